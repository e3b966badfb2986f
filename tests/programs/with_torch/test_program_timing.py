"""Timed calls of programs: restored memory, compared outputs, and attributed time.

They run on the CPU instead of a GPU, so nothing here shows how long anything takes.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

from programs.gpu import call_runs
from programs.gpu.prepared_calls import TimedProgram
from programs.gpu.program_order import ProgramTimingOrder
from programs.gpu.program_timing import timed
from programs.gpu.timed_call import NotCapturable
from programs.replay.live_tensors import LiveTensors
from programs.tape.read_tape import read_tape
from programs.tape.schema import TapeLaunch, tensors_of
from tests.programs.unit.tape_maker import TapeMaker
from tests.programs.with_torch.eager_recording import recorded
from tests.programs.with_torch.timed_programs import FakeDevice, prepared

QUICK = ProgramTimingOrder(warmup_repeats=2, min_repeats=8, max_repeats=8, max_ms=2000)
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Timed:
    """The result of timing a program."""

    result: dict[str, Any]
    device: FakeDevice

    @property
    def timing(self) -> dict[str, Any]:
        """Return the times of the whole call."""
        found: dict[str, Any] = self.result["timing"]
        return found


def time_program(program: TimedProgram, *, captures: bool = True) -> Timed:
    """Time a program on a fake device."""
    device = FakeDevice(captures=captures)
    return Timed(timed(program, QUICK, device), device)


def rows() -> Sequence[torch.Tensor]:
    return [torch.randn(6, 8)]


def doubled_and_added(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).t() + 1


def test_each_repeat_of_either_call_gives_what_was_checked() -> None:
    found = time_program(prepared(recorded(rows, doubled_and_added).tape, CPU))

    assert found.result["method"] == "graph"
    assert found.result["timing_note"] is None
    assert found.timing["input_sets"] == 2
    assert found.timing["checked_repeats"] == found.timing["repeats"] == 8
    assert found.timing["differing_repeats"] == 0
    assert found.device.is_closed


def test_only_ops_that_give_a_device_something_to_do_are_entries() -> None:
    recording = recorded(rows, doubled_and_added)
    found = time_program(prepared(recording.tape, CPU))

    ops = [recording.tape["ops"][entry["op"]] for entry in found.result["entries"]]
    assert [(op["op"], op["phase"]) for op in ops] == [
        ("aten.mul.Tensor", "run2"),
        ("aten.add.Tensor", "run2"),
    ]


@pytest.mark.parametrize("captures", [True, False])
def test_a_call_that_changes_its_state_begins_each_repeat_with_the_same(*, captures: bool) -> None:
    def counted(state: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        state.add_(1)
        return x * state

    recording = recorded(rows, counted, lambda: torch.ones(1))
    found = time_program(prepared(recording.tape, CPU), captures=captures)

    assert found.timing["differing_repeats"] == 0


@pytest.mark.parametrize("captures", [True, False])
def test_repeats_draw_the_same_random_numbers(*, captures: bool) -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        return x + torch.rand_like(x)

    found = time_program(prepared(recorded(rows, noisy).tape, CPU), captures=captures)

    assert found.timing["differing_repeats"] == 0


def test_a_second_call_that_finds_weights_made_ready_is_timed_alone() -> None:
    ready: list[torch.Tensor] = []

    def prepares_once(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        if not ready:
            ready.append(weight * 3)
        return x * ready[0]

    recording = recorded(rows, prepares_once, lambda: torch.randn(8))
    found = time_program(prepared(recording.tape, CPU))

    assert found.timing["input_sets"] == 1
    assert len(found.result["entries"]) == 1
    assert "only the second is timed" in found.result["timing_note"]
    assert found.timing["differing_repeats"] == 0


def test_a_second_call_that_only_returns_what_the_first_made_is_timed() -> None:
    made: list[torch.Tensor] = []

    def makes_once(x: torch.Tensor) -> torch.Tensor:
        if not made:
            made.append(x * 3)
        return made[0]

    found = time_program(prepared(recorded(rows, makes_once).tape, CPU))

    assert found.result["method"] == "graph"
    assert found.result["entries"] == []
    assert found.timing["differing_repeats"] == 0


def test_a_call_that_no_graph_can_hold_is_timed_op_by_op_and_says_so() -> None:
    program = prepared(recorded(rows, doubled_and_added).tape, CPU)

    found = time_program(program, captures=False)

    assert found.result["method"] == "events"
    assert "cannot be captured as a CUDA graph" in found.result["timing_note"]
    assert "this one captures nothing" in found.result["timing_note"]
    assert len(found.result["entries"]) == 2


class WaitingCall:
    """A launch that takes the host 100 us, on its own clock, and a device that lags behind it.

    The device is busy for as long as its head starts say.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_us, self._free_us = 0.0, 0.0
        self.head_starts_us: list[float] = []
        monkeypatch.setattr(call_runs.time, "perf_counter", lambda: self.now_us / 1e6)
        monkeypatch.setattr(FakeDevice, "head_start", self._head_start)

    def launch(self, *_: object) -> None:
        self.now_us = max(self.now_us, self._free_us) + 100.0

    def _head_start(self, duration_us: float, *, flush_l2: bool) -> None:
        del flush_l2
        self.head_starts_us.append(duration_us)
        self._free_us = self.now_us + duration_us


def test_the_head_start_of_a_call_that_waits_for_the_device_does_not_grow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    call = WaitingCall(monkeypatch)
    found = time_program(prepared(launching(), CPU, call), captures=False)

    assert found.result["method"] == "events"
    assert len(call.head_starts_us) > 8
    assert max(call.head_starts_us) < 200.0


def test_what_a_run_made_is_overwritten_before_the_next() -> None:
    found = time_program(prepared(recorded(rows, doubled_and_added).tape, CPU))

    assert found.device.overwritten
    assert all(one.size_bytes for one in found.device.overwritten)


class FirstRunsOnly:
    """A kernel that fills its output in its first runs, and then does nothing."""

    def __init__(self, works: int, device: FakeDevice) -> None:
        self._left, self._device = works, device

    def launch(self, index: int, tensors: LiveTensors) -> None:
        """Run, or be captured."""
        op = LAUNCHING.ops[index]
        assert isinstance(op, TapeLaunch)
        out = tensors.get(*tensors_of(op.args["out"]))
        if self._device.graph is not None:
            self._device.graph.add(lambda: self._run(out))
        else:
            self._run(out)

    def _run(self, out: torch.Tensor) -> None:
        if self._left > 0:
            ctypes.memset(out.data_ptr(), 1, out.numel() * out.itemsize)
        self._left -= 1


def launching() -> dict[str, Any]:
    """Return a tape of calls that launch `copy_kernel(a, out)`."""
    maker = TapeMaker()
    maker.phase = "inputs"
    taken = [maker.op("randn.default", {"list": [64]}) for _ in range(2)]
    given = []
    for phase, x in zip(("run", "run2"), taken, strict=True):
        maker.phase = phase
        given.append(maker.empty())
        maker.launch(x, given[-1])
    return maker.json([taken[0]], [given[0]], [taken[1]], [given[1]])


LAUNCHING = read_tape(json.dumps(launching()).encode())


def of_first_runs_only(works: int, device: FakeDevice) -> dict[str, Any]:
    """Time a kernel that works only in its first runs."""
    program = prepared(launching(), CPU, FirstRunsOnly(works, device))
    return timed(program, QUICK, device)


def test_a_kernel_that_does_its_work_in_its_first_runs_alone_leaves_nothing_in_others() -> None:
    result = of_first_runs_only(10, FakeDevice())  # two are checked, and some warm up

    assert 0 < result["timing"]["differing_repeats"] <= result["timing"]["checked_repeats"]


def test_a_kernel_that_works_in_every_run_leaves_what_was_checked() -> None:
    result = of_first_runs_only(10_000, FakeDevice())

    assert result["timing"]["differing_repeats"] == 0


def test_what_does_not_fit_is_not_timed_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: FakeDevice, run: Callable[[], None]) -> Callable[[], None]:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")

    monkeypatch.setattr(FakeDevice, "capture", full)
    found = time_program(prepared(recorded(rows, doubled_and_added).tape, CPU))

    assert found.result["timing"] is None
    assert "not timed" in found.result["timing_note"]
    assert found.device.is_closed


def test_ops_that_no_graph_has_room_for_once_more_are_not_timed_and_it_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graphs: list[object] = []
    capture = FakeDevice.capture

    def of_two(self: FakeDevice, run: Callable[[], None]) -> Callable[[], None]:
        if len(graphs) == 2:
            raise NotCapturable("CUDA out of memory. Tried to allocate 20.00 GiB.")
        graphs.append(run)
        return capture(self, run)

    monkeypatch.setattr(FakeDevice, "capture", of_two)
    found = time_program(prepared(recorded(rows, doubled_and_added).tape, CPU))

    assert found.timing["input_sets"] == 2
    assert found.result["entries"] is None
    assert "not timed one by one: CUDA out of memory" in found.result["timing_note"]


def test_ops_are_timed_only_on_request() -> None:
    program = prepared(recorded(rows, doubled_and_added).tape, CPU)

    result = timed(program, replace(QUICK, entries=False), FakeDevice())

    assert result["entries"] is None
    assert result["timing"]["repeats"] == result["timing"]["checked_repeats"] == 8


def test_samples_are_reported_where_they_are_asked_for() -> None:
    program = prepared(recorded(rows, doubled_and_added).tape, CPU)
    order = replace(QUICK, samples=True)

    result = timed(program, order, FakeDevice())

    assert len(result["timing"]["samples_us"]) == 8


def test_a_call_that_draws_from_both_of_torchs_generators_is_not_timed() -> None:
    def noisy(x: torch.Tensor) -> list[torch.Tensor]:
        return [x + torch.randn(6, 8), torch.rand(6, 8)]

    tape = recorded(rows, noisy).tape
    assert time_program(prepared(tape, CPU)).timing["differing_repeats"] == 0
    drawn = [op for op in tape["ops"] if op["op"] == "aten.rand.default"]
    storages = {tape["tensors"][op["o"][0]][-1] for op in drawn}
    for op in drawn:
        op["k"]["device"] = {"device": "cpu"}
    for tensor in tape["tensors"]:
        tensor[1] = "cpu" if tensor[-1] in storages else "cuda"

    found = time_program(prepared(tape, CPU))

    assert found.result["timing"] is None
    assert "generators for the CPU and for CUDA" in found.result["timing_note"]

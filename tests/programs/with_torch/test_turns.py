"""A program and its reference, timed in turns on new inputs. The CPU takes the place of a GPU."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from launch.messages import Tolerance
from programs.gpu.call_runs import CallRuns
from programs.gpu.prepared_calls import TimedProgram
from programs.gpu.program_order import ProgramTimingOrder
from programs.gpu.turns import timed_in_turns
from programs.replay.live_tensors import LiveTensors
from programs.tape.read_tape import read_tape
from programs.tape.schema import TapeLaunch, tensors_of
from tests.programs.unit.tape_maker import TapeMaker
from tests.programs.with_torch.eager_recording import recorded
from tests.programs.with_torch.timed_programs import FakeDevice, prepared

ORDER = ProgramTimingOrder(warmup_repeats=2, min_repeats=8, max_repeats=8, max_ms=2000)
CPU = torch.device("cpu")
TOLERANCES = {0: Tolerance(rtol=1e-5, atol=1e-5)}


def rows() -> Sequence[torch.Tensor]:
    return [torch.randn(6, 8)]


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def program(call: Callable[[torch.Tensor], torch.Tensor]) -> TimedProgram:
    return prepared(recorded(rows, call).tape, CPU)


def turns(ours: TimedProgram, theirs: TimedProgram, *, captures: bool = True) -> dict[str, Any]:
    return timed_in_turns((ours, theirs), ORDER, TOLERANCES, FakeDevice(captures=captures))


@pytest.mark.parametrize("captures", [True, False])
def test_each_turn_has_new_inputs_for_both(*, captures: bool) -> None:
    result = turns(program(doubled), program(lambda x: x + x), captures=captures)

    timing, other = result["timing"], result["turns"]["timing"]
    assert timing["fresh_values"]
    assert timing["repeats"] == other["repeats"] == timing["checked_repeats"] == 8
    assert (timing["differing_repeats"], result["wrong_turns"]) == (0, [])
    assert (result["changed_storages"], result["changed_elsewhere"]) == ([], False)


def test_both_run_one_after_the_other_and_the_program_is_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = program(doubled), program(doubled)
    order: list[tuple[str, int | None]] = []
    time_us = CallRuns.time_us

    def noted(self: CallRuns, *, flush_l2: bool, seed: int | None = None) -> list[float]:
        order.append(("ours" if self._fresh is ours.fresh else "theirs", seed))
        return time_us(self, flush_l2=flush_l2, seed=seed)

    monkeypatch.setattr(CallRuns, "time_us", noted)
    timed_in_turns((ours, theirs), ProgramTimingOrder(entries=False), TOLERANCES, FakeDevice())

    assert [name for name, _ in order] == ["ours", "theirs"] * (len(order) // 2)
    seeds = [seed for _, seed in order]
    assert seeds[::2] == seeds[1::2]
    drawn = [seed for seed in seeds[::2] if seed is not None]
    assert len(set(drawn)) == len(drawn) >= 20


def test_a_program_that_differs_from_its_reference_in_a_turn_is_reported() -> None:
    result = turns(program(lambda x: x * 2.01), program(doubled))

    assert result["timing"]["differing_repeats"] == 8
    assert len(result["wrong_turns"]) == 4
    assert result["wrong_turns"][0]["outputs"] == [0]


class Kernel:
    """A launch of `copy_kernel(a, out)` that a test defines."""

    def __init__(self, run: Callable[[torch.Tensor, torch.Tensor], None], device: FakeDevice):
        self._run, self._device = run, device

    def launch(self, index: int, tensors: LiveTensors) -> None:
        """Run, or be captured."""
        op = LAUNCHING.ops[index]
        assert isinstance(op, TapeLaunch)
        a, out = (tensors.get(*tensors_of(op.args[name])) for name in ("a", "out"))
        if self._device.graph is not None:
            self._device.graph.add(lambda: self._run(a, out))
        self._run(a, out)


def launching(*, launches: bool = True) -> dict[str, Any]:
    """Return a tape of calls that copy their input, with a tensor that they only read."""
    maker = TapeMaker()
    maker.phase = "inputs"
    taken = [maker.op("randn.default", {"list": [64]}) for _ in range(2)]
    kept = maker.op("randn.default", {"list": [64]})
    given = []
    for phase, x in zip(("run", "run2"), taken, strict=True):
        maker.phase = phase
        if launches:
            given.append(maker.empty())
            maker.launch(x, given[-1])
        else:
            given.append(maker.op("clone.default", {"t": x}))
        maker.op("clone.default", {"t": kept})
    return maker.json([taken[0]], [given[0]], [taken[1]], [given[1]])


LAUNCHING = read_tape(json.dumps(launching()).encode())


def with_kernel(run: Callable[[torch.Tensor, torch.Tensor], None]) -> dict[str, Any]:
    device = FakeDevice()
    ours = prepared(launching(), CPU, Kernel(run, device))
    theirs = prepared(launching(launches=False), CPU)
    return timed_in_turns((ours, theirs), ORDER, TOLERANCES, device)


def copies(a: torch.Tensor, out: torch.Tensor) -> None:
    ctypes.memmove(out.data_ptr(), a.data_ptr(), a.numel() * a.itemsize)


def test_a_kernel_that_works_in_every_run_matches() -> None:
    assert with_kernel(copies)["wrong_turns"] == []


def test_a_kernel_that_works_only_in_its_first_runs_does_not_match() -> None:
    runs: list[int] = []

    def tires(a: torch.Tensor, out: torch.Tensor) -> None:
        runs.append(1)
        if len(runs) < 12:
            copies(a, out)

    result = with_kernel(tires)

    assert 0 < result["timing"]["differing_repeats"] < 8


def test_a_kernel_that_returns_a_kept_result_does_not_match() -> None:
    kept: list[torch.Tensor] = []

    def keeps(a: torch.Tensor, out: torch.Tensor) -> None:
        kept.append(a.clone())
        copies(kept[0], out)

    assert with_kernel(keeps)["timing"]["differing_repeats"] == 8


def test_a_tensor_that_no_op_of_a_call_writes_is_watched() -> None:
    ours: list[TimedProgram] = []
    runs: list[int] = []

    def pokes(a: torch.Tensor, out: torch.Tensor) -> None:
        copies(a, out)
        runs.append(1)
        if ours:
            ctypes.memset(ours[0].tensors.octets(2).data_ptr(), len(runs), 4)

    device = FakeDevice()
    ours.append(prepared(launching(), CPU, Kernel(pokes, device)))
    theirs = prepared(launching(launches=False), CPU)
    result = timed_in_turns((ours[0], theirs), ORDER, TOLERANCES, device)

    assert result["changed_storages"] == [2]
    assert not result["changed_elsewhere"]


def test_a_kernel_that_reaches_for_the_tensors_of_its_reference_is_reported() -> None:
    theirs = prepared(launching(launches=False), CPU)
    runs: list[int] = []

    def pokes(a: torch.Tensor, out: torch.Tensor) -> None:
        copies(a, out)
        runs.append(1)
        ctypes.memset(theirs.tensors.octets(2).data_ptr(), len(runs), 4)

    device = FakeDevice()
    ours = prepared(launching(), CPU, Kernel(pokes, device))
    result = timed_in_turns((ours, theirs), ORDER, TOLERANCES, device)

    assert result["changed_elsewhere"]


def test_inputs_that_are_not_drawn_are_reported_as_such() -> None:
    def ones() -> Sequence[torch.Tensor]:
        return [torch.ones(6, 8)]

    constant = prepared(recorded(ones, doubled).tape, CPU)
    result = turns(constant, prepared(recorded(ones, doubled).tape, CPU))

    assert result["timing"]["fresh_values"] is False


def test_a_seed_of_the_program_does_not_fix_its_inputs() -> None:
    def seeded() -> Sequence[torch.Tensor]:
        torch.manual_seed(7)
        return [torch.randn(6, 8)]

    one = prepared(recorded(seeded, doubled).tape, CPU)
    assert one.fresh is not None
    x = one.tensors.get(one.tape.inputs[0].id)
    before = x.clone()
    one.fresh.draw(0, 123)
    first = x.clone()
    one.fresh.forget()
    one.fresh.draw(0, 123)

    assert not torch.equal(before, first)
    assert torch.equal(first, x)


def test_inputs_of_one_call_are_drawn_alone() -> None:
    def mixed() -> Sequence[torch.Tensor]:
        scale = torch.rand(1)
        return [torch.randn(6, 8).mul_(scale), torch.arange(8)]

    one = prepared(recorded(mixed, lambda x, n: x * n).tape, CPU)
    assert one.fresh is not None
    x, y = (one.tensors.get(given[0].id) for given in (one.tape.inputs, one.tape.inputs2))
    before = y.clone()
    one.fresh.draw(0, 5)
    first = x.clone()
    one.fresh.draw(1, 5)

    assert torch.equal(x, first)
    assert not torch.equal(y, before)
    assert y.abs().max() > 0


def test_single_ops_are_timed_on_new_inputs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int | None] = []
    time_us = CallRuns.time_us

    def noted(self: CallRuns, *, flush_l2: bool, seed: int | None = None) -> list[float]:
        seeds.extend([seed] if self._each_op else [])
        return time_us(self, flush_l2=flush_l2, seed=seed)

    monkeypatch.setattr(CallRuns, "time_us", noted)
    turns(program(lambda x: x * 2 + 1), program(lambda x: x + x + 1))

    assert None not in seeds
    assert len(set(seeds)) == len(seeds) >= 3

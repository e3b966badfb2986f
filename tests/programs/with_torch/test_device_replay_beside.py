"""Programs and their references, replayed as on a GPU and compared on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from launch.messages import Tolerance
from programs.gpu.program_order import COMPARE, ProgramOrder, ProgramTimingOrder
from tests.gpu.program_tapes import program, t
from tests.programs.with_torch import stand_in_program_gpu
from tests.programs.with_torch.stand_in_program_gpu import (
    COUNT,
    Gpu,
    floats,
    kernel,
    scale,
    scaling,
)
from tests.programs.with_torch.timed_programs import FakeDevice
from tests.unit.worker.gpu.fake_cuda import pointer
from worker.gpu.launcher.launcher_order import BESIDE


class WaitingDevice(FakeDevice):
    """A device that waits in each call, so no graph can capture it."""

    @contextmanager
    def no_waiting(self) -> Iterator[None]:
        yield
        raise RuntimeError("it waits")


def doubling(tape: Any, inputs: list[int]) -> list[int]:
    return [tape.made("mul.Scalar", [COUNT], t(inputs[0]), 2.0)]


def beside(candidate: ProgramOrder, reference: ProgramOrder, **more: Any) -> ProgramOrder:
    tolerances = {0: Tolerance(rtol=1e-5)}
    return replace(candidate, reference=reference, tolerances=tolerances, **more)


def test_a_program_beside_its_reference_is_compared_where_it_is(gpu: Gpu) -> None:
    candidate = program(lambda tape, given: [
        tape.made("add.Tensor", [COUNT], t(given[0]), t(given[0]))], [[COUNT]])  # fmt: skip

    result = gpu.run(beside(candidate, program(doubling, [[COUNT]])))

    found = result["compared"]["outputs"]
    assert list(found) == ["0:0", "1:0"]
    assert all(one["comparison"]["matches"] for one in found.values())
    assert gpu.stages == ["run", BESIDE, "run", COMPARE]
    assert found["0:0"]["comparison"]["compared"] == COUNT
    assert result["compared"]["reference"]["ending"] == "finished"
    assert gpu.sent == {}


def test_a_program_that_is_wrong_beside_its_reference_is_reported(gpu: Gpu) -> None:
    gpu.kernel("scale", scale)  # by three

    result = gpu.run(beside(program(scaling(), [[COUNT]]), program(doubling, [[COUNT]])))

    comparison = result["compared"]["outputs"]["1:0"]["comparison"]
    assert not comparison["matches"]
    assert comparison["mismatched"] == COUNT


def test_the_reference_runs_when_the_program_and_its_timing_are_over(gpu: Gpu) -> None:
    def call(name: str) -> Callable[[Any, list[int]], list[int]]:
        def launching(tape: Any, inputs: list[int]) -> list[int]:
            tape.launch_kernel(name, kernel(name, x="*fp32"), {"x": t(inputs[0])})
            return [inputs[0]]

        return launching

    seen: list[str] = []
    for name in ("ours", "theirs"):
        gpu.kernel(name, lambda _, name=name: seen.append(name))

    gpu.run(beside(program(call("ours"), [[COUNT]], determinism=True),
                   program(call("theirs"), [[COUNT]])))  # fmt: skip

    assert seen == ["ours"] * 4 + ["theirs"] * 2


def test_the_outputs_of_a_timed_program_are_compared_too(gpu: Gpu) -> None:
    candidate = program(doubling, [[COUNT]], timing=ProgramTimingOrder(max_ms=10.0))

    result = gpu.run(beside(candidate, program(doubling, [[COUNT]])))

    assert result["timing"]["differing_repeats"] == 0
    assert all(one["comparison"]["matches"] for one in result["compared"]["outputs"].values())


@pytest.mark.parametrize("works_in", [("run", "timing", "again"), ("again",)])
def test_what_is_compared_is_held_against_what_was_checked_and_timed(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, works_in: tuple[str, ...]
) -> None:
    """A kernel that counts its runs could do its work only in the compared run."""
    monkeypatch.setattr(stand_in_program_gpu, "FakeDevice", WaitingDevice)

    def working(pointers: Any) -> None:
        scale(pointers)
        floats(pointer(pointers, 1))[:] *= gpu.stages[-1] in works_in

    gpu.kernel("scale", working)
    candidate = program(scaling(), [[COUNT]], timing=ProgramTimingOrder(max_ms=10.0))

    timing = gpu.run(beside(candidate, program(doubling, [[COUNT]])))["timing"]

    assert timing["differing_repeats"] == (0 if "timing" in works_in else 2)


def test_what_a_program_beside_its_reference_left_unwritten_is_no_match(gpu: Gpu) -> None:
    candidate = program(lambda tape, _: [tape.empty([COUNT])], [[COUNT]])

    result = gpu.run(beside(candidate, program(doubling, [[COUNT]])))

    comparison = result["compared"]["outputs"]["0:0"]["comparison"]
    assert comparison["unwritten"] == COUNT
    assert not comparison["matches"]


def test_a_fault_of_the_reference_is_reported_as_its_own(gpu: Gpu) -> None:
    from programs.gpu.op_fault import OpFault

    def illegal(_: Any) -> None:
        raise MemoryError

    gpu.kernel("scale", illegal)

    with pytest.raises(OpFault):
        gpu.run(beside(program(doubling, [[COUNT]]), program(scaling(), [[COUNT]])))

    assert BESIDE in gpu.stages
    assert COMPARE not in gpu.stages


def test_a_fault_of_a_program_is_reported_before_its_reference_begins(gpu: Gpu) -> None:
    from programs.gpu.op_fault import OpFault

    def illegal(_: Any) -> None:
        raise MemoryError

    gpu.kernel("scale", illegal)

    with pytest.raises(OpFault):
        gpu.run(beside(program(scaling(), [[COUNT]]), program(doubling, [[COUNT]])))

    assert gpu.stages == ["run"]


def adding(tape: Any, inputs: list[int]) -> list[int]:
    return [tape.made("add.Tensor", [COUNT], t(inputs[0]), t(inputs[0]))]


def in_turns(candidate: ProgramOrder, reference: ProgramOrder) -> ProgramOrder:
    timing = ProgramTimingOrder(max_ms=20.0)
    tolerances = {0: Tolerance(rtol=1e-5)}
    return replace(candidate, turns=reference, timing=timing, tolerances=tolerances)


def test_a_program_is_timed_in_turns_with_its_reference(gpu: Gpu) -> None:
    result = gpu.run(in_turns(program(adding, [[COUNT]]), program(doubling, [[COUNT]])))

    assert gpu.stages == ["run", BESIDE, "timing"]
    assert sorted(gpu.sent) == ["output:0:0", "output:1:0"]
    assert result["timing"]["fresh_values"]
    assert result["timing"]["checked_repeats"] > 0
    assert result["turns"]["timing"]["repeats"] == result["timing"]["repeats"]
    assert result["wrong_turns"] == []


def test_a_program_that_is_wrong_is_wrong_in_each_turn(gpu: Gpu) -> None:
    gpu.kernel("scale", scale)  # by three
    result = gpu.run(in_turns(program(scaling(), [[COUNT]]), program(doubling, [[COUNT]])))

    timing = result["timing"]
    assert timing["differing_repeats"] == timing["checked_repeats"] > 0


def test_a_reference_that_cannot_run_leaves_its_program_without_a_time(gpu: Gpu) -> None:
    reference = replace(program(doubling, [[COUNT]]), memory_bytes=1)
    result = gpu.run(in_turns(program(adding, [[COUNT]]), reference))

    assert result["timing"] is None
    assert "its reference cannot run" in result["timing_note"]
    assert result["findings"] == []

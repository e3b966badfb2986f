"""The variant that an autotuned launch runs, on the CPU with kernels of invented times."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
import torch

from programs.gpu.variant_choice import VariantChoice
from programs.replay.live_tensors import LiveTensors
from programs.tape.read_tape import read_tape
from programs.tape.schema import Tape, TapeLaunch
from tests.programs.unit.tape_maker import TapeMaker
from tests.programs.with_torch.timed_programs import FakeDevice
from worker.gpu.launcher.fault import GpuFault, KernelFault


class Kernels:
    """Variants of a launch that add to `out`: each takes a given time, or does not fit."""

    def __init__(self, tensors: LiveTensors, out: int, takes_ms: list[float | None]) -> None:
        self._tensors, self._out, self._takes_ms = tensors, out, takes_ms
        self.runs: list[int] = []

    def launch(self, variant: int) -> None:
        takes_ms = self._takes_ms[variant]
        if takes_ms is None:
            raise KernelFault(GpuFault.DOES_NOT_FIT, "a block needs 300000 bytes of shared memory")
        time.sleep(takes_ms / 1000)
        self._tensors.get(self._out).add_(1)
        self.runs.append(variant)


def a_launch(tuned: int = 1) -> tuple[Tape, list[TapeLaunch], LiveTensors, int]:
    """Return a tape of this many equal launches, and the tensor that they write."""
    maker = TapeMaker()
    x = maker.tensor()
    out = maker.op("zeros.default", {"list": [64]})
    for _ in range(tuned):
        maker.launch(x, out)
    tape = read_tape(json.dumps(maker.json([x], [out], [], [])).encode())
    tensors = LiveTensors(tape, torch.device("cpu"))
    for id_ in (x, out):
        tensors.make(id_).fill_(3)
    return tape, [op for op in tape.ops if isinstance(op, TapeLaunch)], tensors, out


def test_the_fastest_variant_runs() -> None:
    tape, (op,), tensors, out = a_launch()
    kernels = Kernels(tensors, out, [20.0, 0.0, 40.0])
    choice = VariantChoice(tape, FakeDevice())

    assert choice.variant_of(op, ["a", "b", "c"], tensors, kernels.launch) == 1
    assert set(kernels.runs) == {0, 1, 2}


def test_what_variants_write_is_put_back() -> None:
    tape, (op,), tensors, out = a_launch()
    kernels = Kernels(tensors, out, [0.0, 0.0])

    VariantChoice(tape, FakeDevice()).variant_of(op, ["a", "b"], tensors, kernels.launch)

    assert torch.equal(tensors.get(out), torch.full((64,), 3.0))


def test_a_variant_that_did_not_compile_or_does_not_fit_is_left_out() -> None:
    tape, (op,), tensors, out = a_launch()
    kernels = Kernels(tensors, out, [0.0, None, 20.0])

    found = VariantChoice(tape, FakeDevice()).variant_of(
        op, ["", "b", "c"], tensors, kernels.launch
    )

    assert found == 2
    assert set(kernels.runs) == {2}


def test_a_launch_of_which_no_variant_fits_says_why() -> None:
    tape, (op,), tensors, out = a_launch()
    kernels = Kernels(tensors, out, [None, None])
    choice = VariantChoice(tape, FakeDevice())

    with pytest.raises(KernelFault, match="300000 bytes of shared memory"):
        choice.variant_of(op, ["a", "b"], tensors, kernels.launch)


def test_a_launch_like_one_before_takes_its_variant_and_times_nothing() -> None:
    tape, (first, second), tensors, out = a_launch(tuned=2)
    kernels = Kernels(tensors, out, [20.0, 0.0])
    choice = VariantChoice(tape, FakeDevice())
    choice.variant_of(first, ["a", "b"], tensors, kernels.launch)
    kernels.runs.clear()

    assert choice.variant_of(second, ["a", "b"], tensors, kernels.launch) == 1
    assert not kernels.runs


def test_a_launch_with_other_numbers_is_timed_anew() -> None:
    tape, (op,), tensors, out = a_launch()
    choice = VariantChoice(tape, FakeDevice())
    slow_first = Kernels(tensors, out, [20.0, 0.0])
    slow_second = Kernels(tensors, out, [0.0, 20.0])
    longer = replace(op, args={**op.args, "n": 4096})

    assert choice.variant_of(op, ["a", "b"], tensors, slow_first.launch) == 1
    assert choice.variant_of(longer, ["a", "b"], tensors, slow_second.launch) == 0


def test_one_usable_variant_needs_no_time() -> None:
    tape, (op,), tensors, out = a_launch()
    kernels = Kernels(tensors, out, [0.0, 0.0])

    found = VariantChoice(tape, FakeDevice()).variant_of(op, ["", "b"], tensors, kernels.launch)

    assert found == 1
    assert not kernels.runs


def test_what_the_autotuner_zeroes_is_zero_before_each_run() -> None:
    tape, (op,), tensors, out = a_launch()
    seen: list[float] = []

    def launch(variant: int) -> None:
        seen.append(float(tensors.get(out).sum()))

    zeroing = replace(op, reset_to_zero=("out",))
    VariantChoice(tape, FakeDevice()).variant_of(zeroing, ["a", "b"], tensors, launch)

    assert set(seen) == {0.0}

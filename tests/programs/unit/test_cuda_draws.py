"""The warning that outputs depend on a program's random numbers on CUDA."""

from __future__ import annotations

import pytest

from programs.tape.flags import drawn_on_cuda
from tests.programs.unit.tape_maker import READS_A_WRITES_OUT, TapeMaker, t

pytestmark = pytest.mark.unit
SIZES = {"list": [64]}


def test_outputs_that_depend_on_a_draw_of_the_call_are_named_with_its_line() -> None:
    maker = TapeMaker()
    x = maker.tensor()
    noise = maker.op("randn.default", SIZES)
    made, plain = maker.op("add.Tensor", t(x), t(noise)), maker.op("add.Scalar", t(x), 1.0)

    warning = drawn_on_cuda(maker.tape([x], [plain, made]), {})

    assert warning is not None
    assert "user.py:11" in warning
    assert "(outputs 1)" in warning


def test_a_draw_that_made_a_weight_counts_behind_a_launch_that_reads_it() -> None:
    maker = TapeMaker()
    maker.phase = "init"
    weight = maker.op("randn.default", SIZES)
    maker.phase = "run"
    out = maker.empty()
    maker.launch(weight, out)

    assert drawn_on_cuda(maker.tape([], [out]), READS_A_WRITES_OUT) is not None


def test_a_draw_of_inputs_says_nothing_of_the_program() -> None:
    maker = TapeMaker()
    maker.phase = "inputs"
    x = maker.op("randn.default", SIZES)
    maker.phase = "run"
    made = maker.op("add.Scalar", t(x), 1.0)

    assert drawn_on_cuda(maker.tape([x], [made]), {}) is None


def test_a_draw_that_is_not_used_or_of_the_cpu_is_no_matter() -> None:
    maker = TapeMaker()
    x = maker.tensor()
    maker.op("randn.default", SIZES)
    on_cpu = maker.op("randn.default", SIZES)
    maker.tensors[on_cpu][1] = "cpu"
    maker.ops[-1]["k"]["device"] = {"device": "cpu"}
    made = maker.op("add.Scalar", t(x), 1.0)

    assert drawn_on_cuda(maker.tape([x], [made, on_cpu]), {}) is None

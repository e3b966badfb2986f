"""Flags of programs that take or return no tensors, such as scripts."""

from __future__ import annotations

import pytest

from programs.tape.flags import flags_of
from programs.tape.schema import Tape
from tests.programs.unit.tape_maker import READS_A_WRITES_OUT, TapeMaker

pytestmark = pytest.mark.unit


def kinds(tape: Tape) -> list[str]:
    return sorted({flag.kind for flag in flags_of(tape, READS_A_WRITES_OUT)})


def test_a_program_without_tensor_inputs_may_return_constants() -> None:
    maker = TapeMaker()
    out = maker.empty()
    maker.launch(maker.op("zeros.default", {"list": [64]}), out)

    assert kinds(maker.tape([], [out])) == []


def test_a_tape_of_inputs_alone_shows_nothing() -> None:
    maker = TapeMaker()
    maker.phase = "inputs"
    x = maker.op("randn.default", {"list": [64]})

    assert kinds(maker.tape([x], [])) == []


def test_of_a_script_that_returns_nothing_no_launch_is_called_dead() -> None:
    maker = TapeMaker()
    maker.launch(maker.op("zeros.default", {"list": [64]}), maker.empty())

    assert kinds(maker.tape([], [])) == []


def test_a_script_that_launches_nothing_is_shown() -> None:
    maker = TapeMaker()
    maker.op("zeros.default", {"list": [64]})

    assert kinds(maker.tape([], [])) == ["no_kernel"]


def test_a_launch_of_no_programs_on_an_empty_tensor_is_no_decoy() -> None:
    maker = TapeMaker()
    x, out = maker.tensor(), maker.empty()
    maker.launch(x, out)
    nothing = maker.op("zeros.default", {"list": [0]}, into=maker.tensor(0))
    maker.launch(nothing, nothing, grid=0)

    assert kinds(maker.tape([x], [out])) == []
    assert kinds(maker.tape([x], [nothing])) == []

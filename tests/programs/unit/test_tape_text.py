from __future__ import annotations

import pytest

from programs.tape.read_tape import read_tape
from programs.tape.tape_text import MAX_LINES, tape_text
from tests.programs.unit.recorded import sent, vector_add
from tests.programs.unit.tape_maker import READS_A_WRITES_OUT, TapeMaker, t

pytestmark = pytest.mark.unit


def test_a_tape_is_reported_by_phase_and_line() -> None:
    maker = TapeMaker()
    x = maker.tensor()
    out = maker.empty()
    maker.launch(x, out, grid=4)
    maker.launch(x, maker.empty())
    result = maker.op("add.Scalar", t(out), 1.5)

    assert (
        tape_text(maker.tape([x], [result]), READS_A_WRITES_OUT)
        == """\
torch 2.13.0, seed 42: 5 ops, 2 of them launches
kernel k0: copy_kernel(a, out) at user.py:3
input 0 of the first call: %0 fp32[64]

first call (run): 5 ops
  user.py:11         aten.empty.memory_format([64], device=cuda) -> %1 fp32[64]
  user.py:12         launch copy_kernel[4, 1, 1](a=%0, out=%1)  <- input 0
  user.py:13         aten.empty.memory_format([64], device=cuda) -> %2 fp32[64]  DEAD
  user.py:14         launch copy_kernel[1, 1, 1](a=%0, out=%2)  <- input 0  DEAD
  user.py:15         aten.add.Scalar(%1, 1.5) -> %3 fp32[64]  <- input 0

output 0 of the first call: %3 fp32[64], depends on input 0
(an input with ' belongs to the second call)
"""
    )


def test_what_is_not_known_of_kernels_is_said() -> None:
    text = tape_text(read_tape(sent(vector_add())))

    assert "the kernels' writes are unknown: each launch is assumed" in text
    assert "launch add_kernel[4, 1, 1](x=%0, y=%1, out=%2, n=1024, BLOCK=256), num_warps=4" in text
    assert "output 0 of the second call: %5 fp32[1024], depends on inputs 0', 1'" in text
    assert "DEAD" not in text


def test_of_a_tape_that_returns_nothing_nothing_is_dead() -> None:
    maker = TapeMaker()
    maker.launch(maker.op("zeros.default", {"list": [64]}), maker.empty())
    text = tape_text(maker.tape([], []), READS_A_WRITES_OUT)

    assert "no tensor is returned, so dead ops are not marked" in text
    assert "DEAD" not in text


def test_what_is_left_in_an_input_is_not_for_nothing() -> None:
    maker = TapeMaker()
    x, state = maker.tensor(), maker.tensor()
    maker.launch(x, state)
    maker.launch(x, maker.empty())
    result = maker.op("add.Scalar", t(x), 1.5)
    lines = tape_text(maker.tape([x, state], [result]), READS_A_WRITES_OUT).splitlines()

    assert [line.endswith("DEAD") for line in lines if " launch " in line] == [False, True]


def test_a_long_tape_is_reported_in_so_many_lines() -> None:
    maker = TapeMaker()
    x = maker.tensor()
    for _ in range(MAX_LINES):
        maker.op("add_.Scalar", t(x), 1, into=x)
    lines = tape_text(maker.tape([x], [x])).splitlines()

    assert len(lines) == MAX_LINES + 1
    assert lines[-1] == "... and 8 more lines"


def test_a_long_line_is_clipped() -> None:
    maker = TapeMaker()
    x = maker.tensor()
    maker.op("cat.default", {"list": [t(x)] * 200}, size=12_800)

    assert max(len(line) for line in tape_text(maker.tape([x], [x])).splitlines()) <= 240

"""Buffers that a program reuses between calls: stale contents from the first call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from programs.tape.flags import flags_of
from programs.tape.schema import Tape, TapeLaunch
from tests.programs.unit.tape_maker import READS_A_WRITES_OUT, TapeMaker, t
from tests.programs.unit.test_flags import called_twice, kinds

pytestmark = pytest.mark.unit

Facts = dict[str, dict[str, Any]]


def with_a_buffer(call: Callable[[TapeMaker, int, int], int], second: Any = None) -> Tape:
    """Return the tape of calls with a buffer that the first call makes and the program keeps."""
    kept: list[int] = []

    def first_or_both(maker: TapeMaker, x: int) -> int:
        if not kept:
            kept.append(maker.empty())
        return (second if second and maker.phase == "run2" else call)(maker, x, kept[0])

    return called_twice(first_or_both)


def into_the_buffer(maker: TapeMaker, x: int, buffer: int) -> int:
    maker.launch(x, buffer)
    return buffer


def by_torch(maker: TapeMaker, x: int, buffer: int) -> int:
    maker.launch(maker.op("add.out", t(x), t(x), out=t(buffer), into=buffer), out := maker.empty())
    return out


def in_halves(maker: TapeMaker, x: int, buffer: int) -> int:
    for first in (0, 32):
        half = maker.part(buffer, first, 32)
        maker.op("copy_.default", t(half), t(maker.part(x, first, 32)), into=half)
    maker.launch(buffer, out := maker.empty())
    return out


@pytest.mark.parametrize("call", [into_the_buffer, by_torch, in_halves])
def test_a_buffer_that_each_call_writes_anew_keeps_nothing(
    call: Callable[[TapeMaker, int, int], int],
) -> None:
    assert kinds(with_a_buffer(call)) == []


def test_a_buffer_that_the_second_call_adds_to_keeps_something() -> None:
    def adding(maker: TapeMaker, x: int, buffer: int) -> int:
        maker.launch(x, buffer)
        return maker.op("add_.Tensor", t(buffer), t(x), into=buffer)

    def only_adding(maker: TapeMaker, x: int, buffer: int) -> int:
        maker.launch(x, maker.empty())
        return maker.op("add_.Tensor", t(buffer), t(x), into=buffer)

    assert "cached_result" in kinds(with_a_buffer(adding, only_adding))


def test_a_buffer_that_is_read_before_it_is_written_keeps_something() -> None:
    def reading_first(maker: TapeMaker, x: int, buffer: int) -> int:
        maker.launch(buffer, out := maker.empty())
        maker.launch(x, buffer)
        return out

    assert "cached_result" in kinds(with_a_buffer(reading_first))


def test_a_second_launch_of_fewer_programs_is_less_work() -> None:
    def whole(maker: TapeMaker, x: int, buffer: int) -> int:
        maker.launch(x, buffer, grid=4)
        return buffer

    def less(maker: TapeMaker, x: int, buffer: int) -> int:
        maker.launch(x, buffer, grid=1)
        return buffer

    [flag] = flags_of(with_a_buffer(whole, less), READS_A_WRITES_OUT)
    assert flag.kind == "cached_result"
    assert "copy_kernel[4, 1, 1]" in flag.message
    assert "copy_kernel[1, 1, 1]" in flag.message


@pytest.mark.parametrize(
    "facts",
    [
        {"constexprs": {"IS_DONE": True}},
        {"args": {"n": 0}},
        {"args": {"pair": (0, 64)}},
        {"args": {"n": True}},
    ],
    ids=str,
)
def test_a_launch_with_other_arguments_may_leave_old_contents(facts: Facts) -> None:
    tape = with_a_buffer(into_the_buffer)

    assert kinds(with_launches(tape, facts, facts)) == []
    assert kinds(with_launches(tape, {"args": {"n": 1, "pair": (64, 64)}}, facts)) == [
        "cached_result"
    ]


def test_arguments_of_a_launch_may_differ_if_no_buffer_is_kept() -> None:
    def into_new_memory(maker: TapeMaker, x: int) -> int:
        maker.launch(x, out := maker.empty())
        return out

    tape = called_twice(into_new_memory)

    assert kinds(with_launches(tape, {"args": {"seed": 1}}, {"args": {"seed": 2}})) == []


def with_launches(tape: Tape, first: Facts, second: Facts) -> Tape:
    """Return the tape with these additional launches in the first and the second call."""

    def facts(op: Any) -> Any:
        if not isinstance(op, TapeLaunch):
            return op
        more = first if op.phase == "run" else second
        return replace(op, **{name: {**getattr(op, name), **new} for name, new in more.items()})

    return replace(tape, ops=tuple(map(facts, tape.ops)))

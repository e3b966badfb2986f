"""Tapes on which torch does too much of the work, and tapes on which it may."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from programs.tape.flags import TapeFlag, flags_of
from programs.tape.schema import Tape, TapeLaunch
from tests.programs.unit.tape_maker import READS_A_WRITES_OUT, TapeMaker, t

pytestmark = pytest.mark.unit

Body = Callable[[TapeMaker, int], int]


def returns(body: Body) -> Tape:
    """Return the tape of a program that gets one vector of 64."""
    maker = TapeMaker()
    x = maker.tensor()
    return maker.tape([x], [body(maker, x)])


def launched(maker: TapeMaker, x: int) -> int:
    out = maker.empty()
    maker.launch(x, out)
    return out


def pointwise(times: int) -> Body:
    def body(maker: TapeMaker, x: int) -> int:
        for _ in range(times):
            x = maker.op("neg.default", t(x))
        return x

    return body


def behind(first: Body, then: Body = launched) -> Body:
    return lambda maker, x: then(maker, first(maker, x))


def left(program: Body, reference: Body | None, operations: int | None = 64) -> list[TapeFlag]:
    """Return the flags of this kind for a program whose launches each do this much work."""
    tape = returns(program)
    launches = {at: operations for at, op in enumerate(tape.ops) if isinstance(op, TapeLaunch)}
    beside = None if reference is None else returns(reference)
    found = flags_of(tape, READS_A_WRITES_OUT, beside, launches)
    return [flag for flag in found if flag.kind == "heavy_aten_left"]


def test_torch_may_do_a_quarter_of_the_work() -> None:
    assert left(behind(pointwise(1)), pointwise(4), 4 * 64) == []
    assert left(behind(pointwise(2)), pointwise(4), 4 * 64) != []


def test_what_it_does_is_named_with_its_line_and_share() -> None:
    (flag,) = left(behind(pointwise(1)), pointwise(2), 10_000)
    assert (flag.file, flag.line) == ("user.py", 11)
    assert flag.message == (
        "torch does 50% of the work that outputs depend on, 50% of it by neg here: "
        "compute it in a kernel of this program"
    )


def test_lines_come_by_their_work_and_small_ones_are_left_out() -> None:
    def body(maker: TapeMaker, x: int) -> int:
        small = maker.op("clone.default", t(x))
        one = maker.op("neg.default", t(small))
        return launched(maker, maker.op("gelu.default", t(one)))

    lines = [flag.line for flag in left(body, pointwise(9))]
    assert lines == [13, 12]


def test_a_kernel_earns_no_more_than_the_reference_s_work_less_torch_s() -> None:
    assert left(behind(pointwise(4)), pointwise(4), 10**12) != []


def test_less_work_than_the_reference_s_is_compared_with_the_kernels_own() -> None:
    """A better algorithm, all of it torch's: little work compared with the reference's."""
    assert left(behind(pointwise(4)), pointwise(100), 64) != []
    assert left(behind(pointwise(4)), pointwise(100), 20 * 64) == []


def test_of_a_kernel_whose_work_is_not_known_the_best_is_taken() -> None:
    assert left(behind(pointwise(1)), pointwise(4), None) == []
    assert left(behind(pointwise(2)), pointwise(4), None) != []


def test_without_a_reference_torch_is_compared_with_the_kernels() -> None:
    assert left(behind(pointwise(1)), None, 4 * 64) == []
    assert left(behind(pointwise(1)), None, 64) != []


def test_beside_a_reference_with_kernels_torch_is_compared_with_the_program_s_own() -> None:
    assert left(behind(pointwise(1)), launched, 4 * 64) == []
    assert left(behind(pointwise(1)), launched, 64) != []


def test_copies_fills_and_views_are_not_the_work() -> None:
    def body(maker: TapeMaker, x: int) -> int:
        zeros = maker.op("zeros.default", {"list": [64]})
        moved = maker.op("clone.default", t(maker.op("clone.default", t(x))))
        maker.launch(moved, zeros)
        return maker.op("clone.default", t(zeros))

    assert left(body, pointwise(1)) == []


def test_what_only_moves_is_the_work_where_the_reference_only_moves() -> None:
    def flipped(maker: TapeMaker, x: int) -> int:
        return maker.op("flip.default", t(x), {"list": [0]})

    assert left(launched, flipped) == []
    assert left(behind(flipped), flipped) != []


def test_ops_from_which_nothing_returned_follows_are_not_counted() -> None:
    def body(maker: TapeMaker, x: int) -> int:
        pointwise(50)(maker, x)
        return launched(maker, x)

    assert left(body, pointwise(1)) == []


def test_what_is_left_in_an_input_counts() -> None:
    def in_place(by: str) -> Body:
        def body(maker: TapeMaker, x: int) -> int:
            maker.op(by, t(x), into=x)
            return launched(maker, maker.op("zeros.default", {"list": [64]}))

        return body

    assert left(in_place("neg_.default"), in_place("neg_.default")) != []


def test_nothing_beside_a_reference_that_does_nothing_is_no_matter() -> None:
    assert left(launched, lambda maker, x: x, 0) == []

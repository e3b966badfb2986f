"""A seed always gives the same plan, and each case is a valid request."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from launch.fuzz.fuzz_case import FuzzCase, NewValues, elements_of, words_of, written
from launch.fuzz.fuzz_plan import plan_of
from launch.fuzz.layouts import Layout
from launch.fuzz.shrinking import smaller
from launch.request.argument_binding import bind_arguments
from tests.unit.launch.fuzz.subjects import (
    ADD,
    BLOCKS,
    MATMUL,
    TILES,
    given,
    integers,
    out,
    plan,
    subject,
)

SIZES = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 16}


def made(seed: int, count: int = 40, **more: Any) -> list[dict[str, Any]]:
    tried = plan(MATMUL, TILES, seed=seed, **SIZES, **more)
    return [written(case, tried.subject, tried.links) for case in islice(tried.cases(), count)]


def test_a_seed_makes_the_same_cases_again():
    assert made(7) == made(7)
    assert made(7) != made(8)


def test_no_two_cases_are_the_same():
    cases = made(3, 100)

    assert len({str(case) for case in cases}) == len(cases) == 100


def test_shapes_values_and_layouts_are_tried_in_turn():
    tried = plan(MATMUL, TILES, **SIZES)

    kinds = [case.kinds for case in islice(tried.cases(), 6)]

    assert {kind for each in kinds for kind in each} >= {"shapes", "values", "strides"}


def test_a_case_is_reported_in_words():
    tried = plan(ADD, BLOCKS, BLOCK=128)
    case = FuzzCase(
        ((1000, 129),), (NewValues("x_ptr", "zeros", 1),), (Layout("shifted", "z_ptr"),)
    )

    words = words_of(case, tried.subject, tried.links)

    assert words == "n = 129, x_ptr of zeros, z_ptr not aligned to 16 bytes"


sizes = st.integers(2, 300)


@st.composite
def launches(draw: st.DrawFn) -> tuple[dict[str, Any], list[Any], dict[str, int]]:
    """Draw requests of up to two extents, some with strides, products or indices."""
    rows, columns, block = draw(sizes), draw(sizes), draw(st.sampled_from([16, 32, 128]))
    dtype = draw(st.sampled_from(["fp32", "fp16", "bf16", "fp8e5"]))
    padding = draw(st.sampled_from([0, 0, 3]))
    x = given(rows, columns, dtype=dtype)
    if padding:
        x["strides"] = [columns + padding, 1]
    arguments: dict[str, Any] = {"x_ptr": x, "z_ptr": out(rows, columns)}
    arguments |= draw(
        st.sampled_from(
            [
                {"n_rows": rows, "n_columns": columns},
                {"n_rows": rows, "n_columns": columns, "x_stride": columns + padding},
                {"n": rows * columns},
                {"n_rows": rows, "i_ptr": integers(rows, high=rows)},
            ]
        )
    )
    if draw(st.booleans()):
        arguments["scale"] = 1 / columns
    first = next(name for name in arguments if name.startswith("n"))
    return arguments, [f"cdiv({first}, BLOCK)"], {"BLOCK": block}


@drawn(launch=launches(), seed=st.integers(0, 2**53))
@settings(max_examples=25, deadline=None)
def test_every_case_is_one_that_binds_and_is_linked_as_the_request_is(launch: Any, seed: int):
    arguments, grid, constexprs = launch
    tried = plan_of(subject(arguments, grid, **constexprs), seed)

    for case in islice(tried.cases(), 30):
        new = arguments | written(case, tried.subject, tried.links)
        bound = bind_arguments(new)

        x, z = new["x_ptr"]["shape"], new["z_ptr"]["shape"]
        assert x == z
        for name, axis in (("n_rows", 0), ("n_columns", 1)):
            assert new.get(name, x[axis]) == x[axis]
        assert new.get("n", x[0] * x[1]) == x[0] * x[1]
        if "x_stride" in new:
            assert bound.arguments["x_ptr"].strides[0] == new["x_stride"] or x[0] == 1
        assert elements_of(case, tried.subject, tried.links) <= tried.most_elements


@drawn(launch=launches(), seed=st.integers(0, 2**20))
@settings(max_examples=8, deadline=None)
def test_whatever_fails_becomes_smaller_until_nothing_does(launch: Any, seed: int):
    arguments, grid, constexprs = launch
    tried = plan_of(subject(arguments, grid, **constexprs), seed)
    for case in islice(tried.cases(), 25, 30):
        for _ in range(200):
            case = next(smaller(case, tried), None)
            if case is None:
                break
        else:
            pytest.fail("it goes on for ever")


def test_a_smaller_case_keeps_what_matters():
    tried = plan(ADD, BLOCKS, BLOCK=128)
    case = FuzzCase(
        ((1000, 384),),
        (NewValues("x_ptr", "large", 1), NewValues("y_ptr", "steps", 2)),
        (Layout("shifted", "z_ptr"),),
    )

    def fails(one: FuzzCase) -> bool:
        length = dict(one.extents).get(1000, 1000)
        return length >= 129 and any(each.buffer == "y_ptr" for each in one.values)

    while (found := next(filter(fails, smaller(case, tried)), None)) is not None:
        case = found

    assert case.extents == ((1000, 129),)
    assert [(each.buffer, each.pattern) for each in case.values] == [("y_ptr", "zeros")]
    assert not case.layouts

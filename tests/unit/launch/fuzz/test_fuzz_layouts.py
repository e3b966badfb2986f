"""Fuzzed layouts: strides that scalars give, and unaligned addresses."""

from __future__ import annotations

import pytest

from launch.fuzz.layouts import Layout
from launch.fuzz.subject import Subject
from tests.unit.launch.fuzz.subjects import (
    MATMUL,
    TILES,
    changed,
    given,
    out,
    plan,
)

TWO_ROWS = {"x_ptr": given(4, 60), "z_ptr": out(4, 60), "n_columns": 60}


def test_rows_lie_further_apart_where_a_scalar_says_how_far():
    made = plan(MATMUL, TILES, BLOCK_M=32, BLOCK_N=32, BLOCK_K=16)

    new = changed(made, (80, 33), layouts=(Layout("padded", "a_ptr"),))

    assert (new["a_ptr"]["strides"], new["stride_am"]) == ([38, 1], 38)
    assert new["b_ptr"]["shape"] == [33, 72]


def test_elements_lie_further_apart_where_scalars_say_every_stride():
    made = plan(MATMUL, TILES, BLOCK_M=32, BLOCK_N=32, BLOCK_K=16)

    new = changed(made, layouts=(Layout("spread", "a_ptr"),))

    assert new["a_ptr"]["strides"] == [160, 2]
    assert (new["stride_am"], new["stride_ak"]) == (160, 2)


@pytest.mark.parametrize(
    ("scalars", "padded"),
    [
        ({"x_stride": 60, "z_stride": 60}, {"x_ptr", "z_ptr"}),
        ({"stride_xm": 60}, {"x_ptr"}),
        ({"stride": 60}, set()),
        ({}, set()),
    ],
)
def test_names_tell_whose_a_stride_is(scalars: dict[str, int], padded: set[str]):
    made = plan(TWO_ROWS | scalars, [4], BLOCK=64)

    assert {each.buffer for each in made.layouts if each.kind == "padded"} == padded


def test_a_stride_without_a_certain_scalar_is_reported():
    made = plan(TWO_ROWS | {"stride": 60}, [4], BLOCK=64)

    assert "strides of x_ptr: no scalars are certain to pass all of them" in made.not_varied


def test_an_address_is_shifted_where_the_request_asks_for_no_alignment():
    arguments = TWO_ROWS | {"x_ptr": given(4, 60, align_bytes=64)}
    made = plan(arguments, [4], BLOCK=64)

    assert [each for each in made.layouts if each.kind == "shifted"] == [Layout("shifted", "z_ptr")]
    assert changed(made, layouts=(Layout("shifted", "z_ptr"),))["z_ptr"]["offset"] == 1


def test_strides_that_the_request_says_itself_stay_when_a_shape_changes():
    arguments = {
        "x_ptr": given(40, 60, strides=[64, 1]), "z_ptr": out(40, 60), "n_rows": 40, "x_stride": 64,
    }  # fmt: skip
    made = plan(arguments, ["n_rows"], BLOCK=128)

    new = changed(made, (40, 7))

    assert (new["x_ptr"]["shape"], new["x_ptr"]["strides"]) == ([7, 60], [64, 1])
    assert "x_stride" not in new


def test_a_descriptor_keeps_how_it_lies():
    described = {"descriptor": {"base": given(64, 64), "block_shape": [16, 16]}}
    made = plan({"x_desc": described, "z_ptr": out(8)}, [1])

    assert isinstance(made.subject, Subject)
    assert {each.buffer for each in made.layouts} == {"z_ptr"}

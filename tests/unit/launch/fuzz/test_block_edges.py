"""Fuzzed extents: which ones change, to which lengths, and why others stay."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.launch.fuzz.subjects import (
    ADD,
    BLOCKS,
    MATMUL,
    TILES,
    given,
    lengths,
    out,
    plan,
)

SOFTMAX = {"x_ptr": given(16, 200), "z_ptr": out(16, 200), "n_rows": 16, "n_columns": 200}


def test_lengths_lie_around_the_edges_of_a_block():
    tried = lengths(plan(ADD, BLOCKS, BLOCK=128))[1000]

    assert {1, 127, 128, 129, 259, 384, 999, 1001} <= tried
    assert 1000 not in tried


def test_a_block_may_be_written_into_the_grid():
    assert {63, 64, 65} <= lengths(plan(ADD, ["cdiv(n, 64)"]))[1000]


def test_a_grid_of_numbers_keeps_all_shapes():
    made = plan(ADD, [8], BLOCK=128)

    assert not made.extents
    assert made.not_varied[0].startswith("shapes: the grid is a literal")


def test_an_extent_that_the_grid_does_not_count_grows_into_its_block_at_most():
    made = plan(SOFTMAX, ["n_rows"], BLOCK=256)

    assert max(lengths(made)[200]) == 256
    assert max(lengths(made)[16]) > 256


def test_an_extent_that_no_constexpr_can_hold_grows_to_the_next_power_of_two():
    made = plan(MATMUL, TILES, BLOCK_M=32, BLOCK_N=32, BLOCK_K=16)

    assert max(lengths(made)[80]) <= 128


def test_an_extent_that_is_a_constexpr_stays():
    made = plan(ADD, BLOCKS, BLOCK=128, SIZE=1000)

    assert made.not_varied == ["n: it equals the constexpr SIZE = 1000 and may depend on it"]


def test_a_block_that_a_scalar_happens_to_fill_ties_nothing():
    made = plan(ADD | {"n": 1000}, BLOCKS, BLOCK=1000)

    assert 999 in lengths(made)[1000]


def test_a_square_of_the_length_of_a_block_stays():
    arguments = {"x_ptr": given(64, 64), "z_ptr": out(64, 64), "n": 64}

    assert not plan(arguments, BLOCKS, BLOCK=64).extents


def test_an_extent_that_no_scalar_says_stays():
    arguments = {"x_ptr": given(4, 1000), "z_ptr": out(4, 1000), "n": 1000}

    made = plan(arguments, ["cdiv(n, BLOCK)", 4], BLOCK=128)

    assert lengths(made).keys() == {1000}
    assert made.not_varied == ["x_ptr[0]: the grid contains the literal 4"]


def test_values_that_are_given_one_by_one_keep_their_shape():
    x = {"shape": [4], "dtype": "fp32", "init": {"kind": "values", "values": [1, 2, 3, 4]}}

    made = plan({"x_ptr": x, "z_ptr": out(4), "n": 4}, BLOCKS, BLOCK=2)

    assert not made.extents
    assert made.not_varied[0] == "n: the request gives explicit values for x_ptr"


def test_fixed_arguments_stay():
    made = plan(SOFTMAX, ["n_rows"], fixed="n_columns x_ptr", BLOCK=256)

    assert "n_columns: n_columns is fixed" in made.not_varied
    assert "values of x_ptr: x_ptr is fixed" in made.not_varied


def test_a_boolean_that_promises_whole_blocks_is_kept():
    made = plan(ADD | {"x_ptr": given(1024), "y_ptr": given(1024), "z_ptr": out(1024), "n": 1024},
                BLOCKS, BLOCK=128, EVEN_N=True)  # fmt: skip

    assert {length % 128 for length in lengths(made)[1024]} == {0}


def test_equal_extents_are_one():
    arguments = {"x_ptr": given(96, 96), "z_ptr": out(96, 96), "M": 96, "N": 96, "stride": 96}

    made = plan(arguments, ["cdiv(M, B)", "cdiv(N, B)"], B=32)

    assert [(each.extent, each.called) for each in made.extents] == [(96, "M, N")]


def test_a_launch_of_many_arguments_keeps_its_shapes():
    many = {f"x{number}_ptr": given(1000) for number in range(64)}

    made = plan({**many, "z_ptr": out(1000), "n": 1000}, BLOCKS, BLOCK=128)

    assert not made.extents
    assert made.not_varied[0] == "shapes and layouts: there are more than 64 arguments"
    assert len(made.buffers) == 64


@pytest.mark.parametrize("tuple_", [[60, 1], [given(20, 60)]])
def test_shapes_stay_where_a_tuple_may_have_to_do_with_them(tuple_: list[Any]):
    arguments = {"x_ptr": given(20, 60), "z_ptr": out(20, 60), "n": 60, "more": {"tuple": tuple_}}
    made = plan(arguments, ["n // n"], BLOCK=64)

    assert not made.extents
    assert (
        made.not_varied[0] == "shapes: they may depend on the tuple more, whose items are unnamed"
    )

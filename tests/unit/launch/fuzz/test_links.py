"""Links: arguments that change together with an extent, and ambiguous ones."""

from __future__ import annotations

import pytest

from launch.fuzz.links import Links, NotCertain
from tests.unit.launch.fuzz.subjects import (
    ADD,
    BLOCKS,
    MATMUL,
    TILES,
    changed,
    given,
    integers,
    lengths,
    out,
    plan,
    subject,
)


def test_a_scalar_that_is_an_extent_moves_with_it():
    made = plan(ADD, BLOCKS, BLOCK=128)

    new = changed(made, (1000, 129))

    assert new["n"] == 129
    assert [new[name]["shape"] for name in ("x_ptr", "y_ptr", "z_ptr")] == [[129]] * 3


def test_strides_move_with_the_extents_that_they_are_made_of():
    made = plan(MATMUL, TILES, BLOCK_M=32, BLOCK_N=32, BLOCK_K=16)

    new = changed(made, (80, 33))

    assert (new["K"], new["stride_am"]) == (33, 33)
    assert (new["a_ptr"]["shape"], new["b_ptr"]["shape"]) == ([100, 33], [33, 72])
    assert new.keys() == {"a_ptr", "b_ptr", "K", "stride_am"}


def test_a_scalar_that_is_the_product_of_extents_moves_with_each():
    arguments = {"x_ptr": given(30, 100), "z_ptr": out(30, 100), "n": 3000}
    made = plan(arguments, BLOCKS, BLOCK=128)

    assert changed(made, (30, 7))["n"] == 700
    assert changed(made, (30, 1), (100, 129))["n"] == 129


def test_the_number_of_blocks_moves_with_what_is_cut_into_them():
    arguments = {"x_ptr": given(1000), "part_ptr": out(8), "n": 1000}
    made = plan(arguments, BLOCKS, BLOCK=128)

    assert changed(made, (1000, 129))["part_ptr"]["shape"] == [2]


def test_floats_that_are_one_over_an_extent_move_with_it():
    made = plan(ADD | {"scale": 1 / 1000, "root": 1000**-0.5}, BLOCKS, BLOCK=128)

    new = changed(made, (1000, 100))

    assert (new["scale"], new["root"]) == (0.01, 0.1)


def test_random_integers_up_to_an_extent_stay_below_it():
    arguments = ADD | {"index_ptr": integers(1000, high=1000)}
    made = plan(arguments, BLOCKS, BLOCK=128)

    assert changed(made, (1000, 129))["index_ptr"]["init"]["high"] == 129


def test_buffers_that_random_integers_may_index_stay():
    made = plan(ADD | {"index_ptr": integers(1000, high=500)}, BLOCKS, BLOCK=128)

    assert min(lengths(made)[1000]) == 500


def test_positions_that_are_counted_do_not_grow():
    made = plan(ADD | {"index_ptr": given(1000, kind="arange", dtype="i32")}, BLOCKS, BLOCK=128)

    assert max(lengths(made)[1000]) == 999


def test_a_number_that_could_be_two_things_moves_nothing():
    arguments = {"x_ptr": given(10, 100), "z_ptr": out(1000), "n": 1000}
    links = Links(subject(arguments, BLOCKS, BLOCK=128))

    with pytest.raises(NotCertain, match="several explanations"):
        links.follow({1000: 129})
    assert links.follow({10: 7}).integers == {"n": 700}


@pytest.mark.parametrize("half", [500, 999, 1002, 2000, 1024])
def test_an_extent_stays_where_another_number_may_come_from_it(half: int):
    made = plan(ADD | {"other": half}, BLOCKS, BLOCK=128)

    assert not made.extents
    assert made.not_varied[0] == f"n: other = {half} may depend on it"


def test_a_seed_has_nothing_to_do_with_an_extent():
    assert plan(ADD | {"seed": 500}, BLOCKS, BLOCK=128).extents


def test_a_small_number_that_divides_an_extent_goes_on_dividing_it():
    made = plan(ADD | {"groups": 8}, ["cdiv(n, BLOCK)"], BLOCK=32)

    assert all(length % 8 == 0 for length in lengths(made)[1000])


def test_numbers_that_are_products_in_many_ways_are_worked_out_once(monkeypatch):
    exponents = [(one, total - one) for total in range(2, 15) for one in range(1, total // 2 + 1)]
    shapes = [(0, 2**one, 2**other) for one, other in exponents]
    arguments = {f"x{number}_ptr": given(*shape) for number, shape in enumerate(shapes)}
    links = Links(subject({**arguments, "n": 2**14}, ["n // n"]))
    asked, ask = [], Links._moved
    monkeypatch.setattr(Links, "_moved", lambda *given: asked.append(given) or ask(*given))

    links.follow({})

    assert len(asked) < 10 * len(shapes)
    assert links.scalars_of(2) == ["n"]

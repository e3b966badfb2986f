"""Launches that keep a contract are found where sizes depend on each other."""

from itertools import islice

import pytest

from launch.contract.text import read_contract
from launch.recheck.contract_values import LegalLaunch, read_contract_text
from launch.recheck.launch_search import LaunchSearch, ScalarType, is_none
from launch.recheck.sampled_programs import sampled_programs

_I32 = ScalarType(32)


def search(text: str, scalars: str = "n m", **members: int) -> LaunchSearch:
    read_contract(text)  # the prover reads it, too
    return LaunchSearch(
        read_contract_text(text),
        dict.fromkeys(scalars.split(), _I32),
        {"x_ptr": 32},
        {"B": 64},
        frozenset({64}),
        members.get("most_size", 2**30),
        members.get("most_elements", 2**36),
    )


def launches(found: LaunchSearch, *, large: bool, count: int = 200) -> list[LegalLaunch]:
    several = islice(found.launches(), count)
    return [one for is_large, one in several if is_large == large and not is_none(one)]


@pytest.mark.parametrize(
    ("text", "keeps"),
    [
        ("n <= m", lambda n, m: n <= m),
        ("n == m * 64", lambda n, m: n == m * 64),
        ("n % 48 == 0\nm % 16 == 0\nm < n", lambda n, m: n % 48 == m % 16 == 0 and m < n),
        ("n = m + 5", lambda n, m: n == m + 5),
        ("n * m <= 2000000000\nn >= 1000", lambda n, m: n * m <= 2 * 10**9 and n >= 1000),
        ("(n // 8) * 8 == n", lambda n, m: n % 8 == 0),
        ("n == 77777", lambda n, m: n == 77777),
    ],
)
@pytest.mark.parametrize("large", [False, True])
def test_launches_keep_what_relates_sizes(text: str, keeps: object, *, large: bool) -> None:
    found = launches(search(f"{text}\nx_ptr: n\n"), large=large)
    assert len(found) > 5
    assert callable(keeps)
    for one in found:
        assert keeps(one.scalars["n"], one.scalars["m"]), one


def test_large_launches_pass_the_ends_of_integers_with_products() -> None:
    found = launches(search("x_ptr: n * m\nn <= 100000\nm <= 100000\n"), large=True)
    products = [one.scalars["n"] * one.scalars["m"] for one in found]
    assert any(2**31 <= product < 2**31 + 2**20 for product in products)
    assert any(2**32 <= product < 2**32 + 2**20 for product in products)
    assert all(one.extents["x_ptr"] <= 2**36 for one in found)


def test_sizes_have_their_ends() -> None:
    found = launches(search("x_ptr: 1\n", most_size=2**20), large=True)
    assert max(one.scalars["n"] for one in found) == 2**20
    assert min(one.scalars["n"] for one in launches(search("x_ptr: 1\n"), large=False)) == 1


def test_any_scalars_are_negative_and_0_too() -> None:
    found = search("any n\nx_ptr: 1\n")
    small = {one.scalars["n"] for one in launches(found, large=False)}
    assert 0 in small
    assert min(small) < 0
    large = {one.scalars["n"] for one in launches(found, large=True)}
    assert -(2**31) in large
    assert 2**31 - 1 in large


def test_buffers_that_can_hold_no_value_are_in_no_launch_unless_empty() -> None:
    found = launches(search("x_ptr: max(10 - n, 0)\nvalues x_ptr: n .. n\n"), large=False)
    assert found
    assert all(one.extents["x_ptr"] == 0 for one in found)


def test_an_empty_grid_is_no_launch_unless_it_is_allowed() -> None:
    text = "x_ptr: 1\ngrid: n // B\n"
    assert all(one.grid[0] > 0 for one in launches(search(text), large=False))
    allowed = search(text)
    allowed.__init__(  # type: ignore[misc]
        allowed.contract, allowed.scalars, allowed.element_bits, allowed.constants,
        allowed.numbers, allowed.most_size, allowed.most_elements, allows_empty_grid=True,
    )  # fmt: skip
    assert any(one.grid == (0, 0, 0) for one in launches(allowed, large=False))


def test_all_programs_of_a_small_grid_and_the_edges_of_a_large_one_run() -> None:
    assert sampled_programs((2, 3, 1), [], 8) == [0, 1, 2, 3, 4, 5]
    numbers = sampled_programs((2**20, 4, 1), [8192], 12)
    assert len(numbers) <= 12
    assert {0, 1, 2**20 - 1, 2**22 - 1, 2**31 // 8192} <= set(numbers)

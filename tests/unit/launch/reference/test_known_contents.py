"""Cases with equal initial contents share one copy for their references, within a budget."""

import numpy as np
import pytest

from launch.buffers.allocation import leaf_of, memory_of
from launch.reference.reference import KnownContents

COUNT = 1000


def described(seed, count=COUNT):
    return {
        "name": "x_ptr", "dtype": "fp32", "elements": count, "body": None,
        "init": {"kind": "normal", "seed": seed},
    }  # fmt: skip


@pytest.fixture
def layout():
    return leaf_of(
        "x_ptr",
        {"shape": [COUNT], "strides": [1], "offset": 0, "allocation": 0, "dtype": "fp32",
         "output": False},
    )  # fmt: skip


def test_equal_descriptions_are_made_once(layout):
    known = KnownContents()
    first = known.memory_of(described(1), layout, b"")

    assert known.memory_of(described(1), layout, b"") is first
    np.testing.assert_array_equal(first, memory_of(described(1), layout, b""))


def test_another_seed_is_another_content(layout):
    known = KnownContents()
    known.memory_of(described(1), layout, b"")

    made = known.memory_of(described(2), layout, b"")

    np.testing.assert_array_equal(made, memory_of(described(2), layout, b""))


def test_kept_contents_are_read_only(layout):
    kept = KnownContents().memory_of(described(1), layout, b"")

    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 0


def test_those_asked_for_last_stay_within_the_budget(layout):
    known = KnownContents(most_bytes=2 * 4 * COUNT)
    made = {seed: known.memory_of(described(seed), layout, b"") for seed in (1, 2)}
    known.memory_of(described(1), layout, b"")
    known.memory_of(described(3), layout, b"")

    assert known.memory_of(described(1), layout, b"") is made[1]
    assert known.memory_of(described(2), layout, b"") is not made[2]


def test_one_that_is_larger_than_the_budget_is_not_kept(layout):
    known = KnownContents(most_bytes=COUNT)

    made = known.memory_of(described(1), layout, b"")

    assert known.memory_of(described(1), layout, b"") is not made

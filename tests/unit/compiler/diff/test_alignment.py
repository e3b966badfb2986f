"""Aligned lines of two texts: always correct, and complete for small texts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from compiler.diff.alignment import Level, aligned, gaps

FEW = st.lists(st.integers(0, 3), max_size=14)


def longest(a: Sequence[int], b: Sequence[int]) -> int:
    """Return the length of the longest common subsequence, by its definition."""
    lengths = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            better = max(lengths[i][j + 1], lengths[i + 1][j])
            lengths[i + 1][j + 1] = lengths[i][j] + 1 if x == y else better
    return lengths[-1][-1]


@given(FEW, FEW)
def test_pairs_are_equal_lines_in_the_order_of_both(a: list[int], b: list[int]) -> None:
    pairs = aligned([Level(a, b)])

    assert all(a[i] == b[j] for i, j in pairs)
    assert all(x[0] < y[0] and x[1] < y[1] for x, y in pairwise(pairs))


@given(st.lists(st.integers(0, 5), max_size=40), st.data())
def test_of_lines_left_out_all_others_are_aligned(a: list[int], data: st.DataObject) -> None:
    left_out = data.draw(st.sets(st.integers(0, 40)))
    b = [key for index, key in enumerate(a) if index not in left_out]

    assert len(aligned([Level(a, b)])) >= 0.6 * len(b)
    if len(set(a)) == len(a):
        assert len(aligned([Level(a, b)])) == len(b)


@given(st.lists(st.integers(0, 1), max_size=12), st.lists(st.integers(0, 1), max_size=12))
def test_what_has_no_line_that_occurs_once_is_compared_exactly(a: list[int], b: list[int]) -> None:
    a, b = [*a, 0, 1, 0, 1], [*b, 1, 0, 1, 0]  # each line of both texts twice

    assert len(aligned([Level(a, b)])) >= longest(a, b) - 2


def test_what_the_strictest_key_leaves_is_left_to_the_next() -> None:
    strict = Level([1, 2, 3, 4], [1, 9, 8, 4])
    plain = Level([1, 2, 3, 4], [1, 2, 3, 4])

    assert aligned([strict]) == [(0, 0), (3, 3)]
    assert aligned([strict, plain]) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_a_strict_pair_is_kept_against_what_a_loose_key_would_rather_have() -> None:
    strict = Level([1, 2], [2, 3])
    plain = Level([1, 1], [1, 1])

    assert aligned([strict, plain]) == [(1, 0)]


@given(FEW, FEW)
def test_gaps_and_pairs_are_all_of_both_texts(a: list[int], b: list[int]) -> None:
    pairs = aligned([Level(a, b)])

    found = gaps(pairs, len(a), len(b))
    assert sum(gap.a_end - gap.a for gap in found) + len(pairs) == len(a)
    assert sum(gap.b_end - gap.b for gap in found) + len(pairs) == len(b)

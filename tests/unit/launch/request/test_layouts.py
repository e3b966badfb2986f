"""Shapes and strides, compared with counting every element."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from launch.request.buffer import contiguous_strides, may_overlap, reached

SHAPES = st.lists(st.integers(0, 4), max_size=3)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    shape = draw(SHAPES)
    return shape, draw(st.lists(st.integers(-6, 6), min_size=len(shape), max_size=len(shape)))


def every_element(shape: list[int], strides: list[int], offset: int = 0) -> list[int]:
    indices = product(*(range(extent) for extent in shape))
    return [offset + sum(i * s for i, s in zip(index, strides, strict=True)) for index in indices]


@given(layouts(), st.integers(0, 5))
def test_the_reach_is_from_the_first_to_the_last_element(
    layout: tuple[list[int], list[int]], offset: int
):
    elements = every_element(*layout, offset)
    span = reached(*layout, offset)

    if elements:
        assert (span[0], span[-1]) == (min(elements), max(elements))
    else:
        assert not span


@given(layouts())
def test_a_layout_that_is_called_free_of_overlap_is(layout: tuple[list[int], list[int]]):
    elements = every_element(*layout)

    assert may_overlap(*layout) or len(set(elements)) == len(elements)


@given(SHAPES)
def test_c_order_is_without_gaps_and_overlap(shape: list[int]):
    strides = contiguous_strides(shape)

    assert every_element(shape, strides) == list(reached(shape, strides, 0))
    assert not may_overlap(shape, strides)


def test_columns_that_interleave_are_free_of_overlap():
    assert not may_overlap([4, 8], [1, 4])
    assert not may_overlap([3, 1], [-2, 0])


def test_a_repeated_element_is_an_overlap():
    assert may_overlap([2], [0])
    assert may_overlap([2, 3], [2, 1])

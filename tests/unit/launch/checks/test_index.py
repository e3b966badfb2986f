"""An element's offset in memory becomes the index in the user's tensor."""

import pytest

from launch.buffers.allocation import Leaf
from launch.checks.finding import index_of


def leaf(shape, strides, offset=0):
    return Leaf("x", shape, strides, offset, 0, "fp32", output=False)


@pytest.mark.parametrize(
    ("element", "shape", "strides", "offset", "index"),
    [
        (0, (10,), (1,), 0, [0]),
        (10, (10,), (1,), 0, [10]),
        (-1, (10,), (1,), 0, [-1]),
        (7, (4, 5), (5, 1), 0, [1, 2]),
        (20, (4, 5), (5, 1), 0, [4, 0]),
        (-1, (4, 5), (5, 1), 0, [-1, 4]),
        (7, (4, 5), (1, 4), 0, [3, 1]),
        (9, (3, 2), (8, 2), 1, [1, 0]),
        (10, (3, 2), (8, 2), 1, [10]),
        (6, (3, 2), (8, 2), 1, [6]),
        (3, (1,), (1,), 0, [3]),
        (5, (2, 1, 3), (3, 3, 1), 0, [1, 0, 2]),
        (2, (), (), 0, [2]),
        (2, (4,), (0,), 0, [2]),
    ],
    ids=[
        "first", "past the end", "before the start", "row-major", "a row too many",
        "before a matrix", "column-major", "with an offset", "between the elements",
        "in the gap of a row", "one element", "an axis of one", "no axis", "broadcast",
    ],
)  # fmt: skip
def test_an_index(element, shape, strides, offset, index):
    assert index_of(element, leaf(shape, strides, offset)) == index

"""Shapes and strides: which elements of an allocation a buffer can reach.

All in elements; Python integers, so that nothing overflows before a limit is compared.
"""

from collections.abc import Sequence
from math import prod


def contiguous_strides(shape: Sequence[int]) -> list[int]:
    """Return the strides of C order."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def reached(shape: Sequence[int], strides: Sequence[int], offset: int) -> range:
    """Return the span of indices that the elements of a buffer lie in; empty when it has none."""
    if 0 in shape:
        return range(offset, offset)
    ends = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    lowest = offset + sum(end for end in ends if end < 0)
    highest = offset + sum(end for end in ends if end > 0)
    return range(lowest, highest + 1)


def may_overlap(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two elements could share memory.

    False is certain; True also of some layouts that interleave without sharing.
    """
    if 0 in shape:
        return False
    axes = zip(shape, strides, strict=True)
    used = sorted((abs(stride), extent) for extent, stride in axes if extent > 1)
    span = 0
    for stride, extent in used:
        if stride <= span:
            return True
        span += stride * (extent - 1)
    return False

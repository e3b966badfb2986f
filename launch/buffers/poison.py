"""The poison: contents of memory before the first write, which kernels rarely intend.

It is the same on every device, so that missing writes look the same everywhere.
"""

from typing import Any

import numpy as np

from launch.buffers.element_types import Array

_NAN = 0xFF
_UNSIGNED_ZERO_NAN = 0x80
"""The only NaN of fp8 types without a negative zero, where 0xFF is a number."""
_OTHER = 0x5C
"""For a second run: an element that neither run wrote holds a different poison in each."""
_UNLIKELY = 0xAB
"""For integers and booleans: 0xFF would mean -1 or true, which many kernels write."""


def poison_of(kind: np.dtype[Any], *, other: bool = False) -> int:
    """Return the byte that fills unwritten elements of a stored dtype; floats become NaN.

    `other` selects the byte for a second run, which need not be NaN.
    """
    if other:
        return _OTHER
    if kind.kind in "iub":
        return _UNLIKELY
    return _UNSIGNED_ZERO_NAN if kind.name.endswith("fnuz") else _NAN


def poisoned(count: int, kind: np.dtype[Any], *, other: bool = False) -> Array:
    """Return `count` unwritten elements."""
    return np.full(count * kind.itemsize, poison_of(kind, other=other), np.uint8).view(kind)


def unwritten(elements: Array, *, other: bool = False) -> Array:
    """Return a flat mask of the elements that still hold the poison, bit for bit."""
    octets = np.ascontiguousarray(elements).reshape(-1).view(np.uint8)
    byte = poison_of(elements.dtype, other=other)
    same: Array = octets.reshape(-1, elements.itemsize) == byte
    return np.asarray(same.all(axis=1))

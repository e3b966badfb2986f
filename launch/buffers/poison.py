"""The contents of memory before the first write: a value that kernels hardly ever intend.

It is the same on every device, so that missing writes look the same everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from launch.buffers.element_types import Array

_NAN = 0xFF
_UNSIGNED_ZERO_NAN = 0x80
"""The only NaN of the fp8 types that have no negative zero; their 0xFF is a number."""
_OTHER = 0x5C
"""For a second run: elements that neither run wrote hold the poison of each."""
_UNLIKELY = 0xAB
"""For integers and booleans: bytes of 0xFF would be -1 or true, which many kernels mean."""


def poison_of(kind: np.dtype[Any], *, other: bool = False) -> int:
    """Return the byte that elements of a stored type are filled with: floats become NaN.

    The `other` one is for a second run, where it need not be noticed in numbers.
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
    """Return which of the elements, as a flat array, still hold the poison, bit for bit."""
    octets = np.ascontiguousarray(elements).reshape(-1).view(np.uint8)
    byte = poison_of(elements.dtype, other=other)
    same: Array = octets.reshape(-1, elements.itemsize) == byte
    return np.asarray(same.all(axis=1))

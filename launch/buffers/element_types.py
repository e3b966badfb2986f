"""Element types: Triton's names, the NumPy dtypes that store them, and conversions to them.

Every process must make the same buffer, so these conversions are part of the contract:

- integers to integers wrap (two's complement);
- floats to integers truncate towards zero and saturate, and NaN becomes 0;
- anything to `i1` tests for "not zero";
- anything to floats rounds to nearest even and overflows to infinity. In the fp8 types, finite
  values saturate instead, as in CUDA's `satfinite` conversions.

Memory that nothing has written yet holds the poison: bytes that kernels rarely intend. The poison
is the same on every device, so that missing writes look the same everywhere.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

_NAN = 0xFF
_UNSIGNED_ZERO_NAN = 0x80
"""The only NaN of fp8 types without a negative zero, where 0xFF is a number."""
_OTHER = 0x5C
"""For a second run: an element that neither run wrote holds a different poison in each."""
_UNLIKELY = 0xAB
"""For integers and booleans: 0xFF would mean -1 or true, which many kernels write."""
Array = np.ndarray[Any, np.dtype[Any]]

STORED: Mapping[str, np.dtype[Any]] = {
    "i1": np.dtype(np.uint8),
    "u1": np.dtype(np.uint8),
    **{f"i{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)},
    "fp16": np.dtype(np.float16),
    "fp32": np.dtype(np.float32),
    "fp64": np.dtype(np.float64),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "fp8e4nv": np.dtype(ml_dtypes.float8_e4m3fn),
    "fp8e4b8": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "fp8e5": np.dtype(ml_dtypes.float8_e5m2),
    "fp8e5b16": np.dtype(ml_dtypes.float8_e5m2fnuz),
}
"""The NumPy dtype of one element in memory. `i1` takes a byte."""

_BOOLEANS = frozenset({"i1", "u1"})
_NATIVE_FLOATS = frozenset({"fp16", "fp32", "fp64"})


class UnknownDtype(ValueError):
    """A buffer cannot have this dtype."""

    def __init__(self, name: str) -> None:
        super().__init__(f"buffers cannot have dtype {name!r}; use {', '.join(STORED)}")


def stored(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype that stores a Triton type. Raises `UnknownDtype`."""
    if name not in STORED:
        raise UnknownDtype(name)
    return STORED[name]


def is_float(name: str) -> bool:
    """Return True for a Triton floating-point type."""
    return name.startswith(("fp", "bf"))


def largest_finite(name: str) -> float:
    """Return the largest finite value of a floating-point type. Raises `UnknownDtype`."""
    limits: Any = ml_dtypes.finfo
    return float(limits(stored(name)).max)


def cast(values: Array, name: str) -> Array:
    """Return `values` (float64, 64-bit integers or bool) as elements of a Triton type.

    Raises `UnknownDtype`.
    """
    kind = stored(name)
    if name in _BOOLEANS:
        return np.not_equal(values, 0).astype(kind)
    if not is_float(name):
        return _saturated(values, kind) if values.dtype.kind == "f" else values.astype(kind)
    with np.errstate(all="ignore"):
        if name.startswith("fp8"):
            largest = largest_finite(name)
            finite = np.isfinite(values)
            values = np.where(finite, np.clip(values, -largest, largest), values)
        return values.astype(kind)


def _saturated(values: Array, kind: np.dtype[Any]) -> Array:
    limits = np.iinfo(kind)
    whole = np.trunc(values)
    above = whole >= float(limits.max) + 1.0
    below = whole < float(limits.min)
    inside = ~(above | below | np.isnan(whole))
    result = np.zeros(values.shape, kind)
    result[inside] = whole[inside].astype(kind)
    result[above] = limits.max
    result[below] = limits.min
    return result


def readable(elements: Array, name: str) -> Array:
    """Return stored elements as exact numbers of a native NumPy dtype.

    bf16 and fp8 become float32, `i1` becomes bool; other dtypes stay.
    """
    if name in _BOOLEANS:
        return np.not_equal(elements, 0)
    if name.startswith("fp8"):
        return _numbers_of_bytes(name)[elements.view(np.uint8)]
    if is_float(name) and name not in _NATIVE_FLOATS:
        return elements.astype(np.float32)
    return elements


@cache
def _numbers_of_bytes(name: str) -> Array:
    """Return the 256 values of an fp8 type: a table lookup is faster than a conversion."""
    return np.arange(256, dtype=np.uint8).view(STORED[name]).astype(np.float32)


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

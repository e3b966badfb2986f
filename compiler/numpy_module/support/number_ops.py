"""Arithmetic that a GPU does otherwise than NumPy: division, casts, bits, and what NumPy lacks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def unsigned(value: Any) -> Any:
    """Return the bits of integers as those of unsigned ones; bools stay."""
    value = np.ascontiguousarray(value).reshape(np.shape(value))
    return (value if value.dtype.kind == "b" else value.view(f"u{value.dtype.itemsize}"))[()]


def signed(value: Any) -> Any:
    """Return the bits of unsigned integers as those of signed ones."""
    value = np.asarray(value)
    return (value.view(f"i{value.dtype.itemsize}") if value.dtype.kind == "u" else value)[()]


def divide(a: Any, b: Any) -> Any:
    """Return the quotient of integers, cut off towards zero; by zero it is 0 (a GPU: undefined)."""
    quotient = np.floor_divide(a, b)
    rest = np.remainder(a, b)
    return quotient + ((rest != 0) & (np.less(a, 0) != np.less(b, 0))).astype(quotient.dtype)


def remainder(a: Any, b: Any) -> Any:
    """Return what `divide` leaves; it has the sign of `a`."""
    return np.fmod(a, b)


def high_product(a: Any, b: Any) -> Any:
    """Return the upper half of the product of unsigned integers."""
    a, b = unsigned(a), unsigned(b)
    if a.dtype.itemsize < 8:
        width = a.dtype.itemsize * 8
        product = a.astype(np.uint64) * b.astype(np.uint64)
        return signed((product >> np.uint64(width)).astype(a.dtype))
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    middle = a1 * b0 + (a0 * b0 >> half)
    return signed(a1 * b1 + (middle >> half) + (((middle & low) + a0 * b1) >> half))


def to_integer(value: Any, dtype: Any) -> Any:
    """Return floats cut off towards zero, as near as `dtype` comes to them; NaN is 0."""
    limits = np.iinfo(dtype)
    whole = np.trunc(np.asarray(value).astype(np.float64))
    whole = np.where(np.isnan(whole), 0.0, whole)
    bounded = np.clip(whole, float(limits.min), np.nextafter(float(limits.max), 0.0))
    near = bounded.astype(np.int64 if limits.min < 0 else np.uint64).astype(dtype)
    near = np.where(whole >= float(limits.max), limits.max, near)
    return near.astype(dtype)[()]


def to_float(value: Any, dtype: Any) -> Any:
    """Return `value` rounded to nearest even; fp8 holds its largest instead of overflowing."""
    value, dtype = np.asarray(value), np.dtype(dtype)
    if dtype.itemsize == 1:
        import ml_dtypes

        most = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
        value = np.clip(value.astype(np.float32), -most, most)
    return value.astype(dtype)[()]


def towards_zero(value: Any, dtype: Any) -> Any:
    """Return `value` rounded towards zero."""
    value = np.asarray(value)
    near = value.astype(dtype)
    bits = np.ascontiguousarray(near).view(f"u{near.dtype.itemsize}").reshape(near.shape)
    too_far = np.abs(near.astype(np.float64)) > np.abs(value.astype(np.float64))
    return (bits - too_far.astype(bits.dtype)).view(dtype)[()]


def bits(value: Any, dtype: Any) -> Any:
    """Return the same bits as another type of the same width."""
    value = np.asarray(value)
    return np.ascontiguousarray(value).view(dtype).reshape(value.shape)[()]


def fused(a: Any, b: Any, c: Any) -> Any:
    """Return `a * b + c`, of fp32 and narrower rounded nearly once, by way of fp64."""
    wide = np.asarray(a, np.float64) * np.asarray(b, np.float64) + np.asarray(c, np.float64)
    return wide.astype(np.result_type(a, b, c))[()]


erf_of = np.vectorize(math.erf, otypes=[np.float64])


def erf(value: Any) -> Any:
    """Return the error function."""
    return erf_of(value).astype(np.asarray(value).dtype)[()]


def rounded(value: Any) -> Any:
    """Return the nearest whole numbers, halves away from zero."""
    return np.trunc(value + np.copysign(np.asarray(value).dtype.type(0.5), value))


def count_bits(value: Any) -> Any:
    """Return how many bits of integers are one, as int32."""
    return np.bitwise_count(unsigned(value)).astype(np.int32)

"""Arithmetic that a GPU does otherwise than NumPy: division, bits, and what NumPy lacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ttir_to_numpy.runtime.rounding import bits_of, fused


def unsigned(value: Any) -> Any:
    """Return the bits of integers as those of unsigned ones; bools stay."""
    value = np.ascontiguousarray(value).reshape(np.shape(value))
    return (value if value.dtype.kind == "b" else value.view(f"u{value.dtype.itemsize}"))[()]


def signed(value: Any) -> Any:
    """Return the bits of unsigned integers as those of signed ones."""
    value = np.asarray(value)
    return (value.view(f"i{value.dtype.itemsize}") if value.dtype.kind == "u" else value)[()]


def divide(a: Any, b: Any) -> Any:
    """Return the quotient of integers, cut off towards zero; by zero what `by_zero` says."""
    quotient = np.floor_divide(a, b)
    if np.all(np.greater(b, 0)) and np.all(np.greater_equal(a, 0)):
        return quotient
    away = (quotient * b != a) & (np.less(a, 0) != np.less(b, 0))
    return np.where(np.equal(b, 0), by_zero(a), quotient + away)[()]


def remainder(a: Any, b: Any) -> Any:
    """Return what `divide` leaves, with the sign of `a`; by zero what `by_zero` says."""
    rest = np.fmod(a, b)
    return rest if np.all(b) else np.where(np.equal(b, 0), by_zero(a), rest)[()]


def by_zero(a: Any) -> Any:
    """Return what `a` divided by zero gives: all bits one; of 64 bits those that `a` fits into."""
    a = np.asarray(a)
    ones = ~(a ^ a)
    if a.dtype.itemsize < 8:
        return ones
    return np.where(unsigned(a) >> np.uint64(32) == 0, a.dtype.type(0xFFFFFFFF), ones)


def float_remainder(a: Any, b: Any) -> Any:
    """Return `a - b * trunc(a / b)`, computed in fp32 at least, as a GPU does it."""
    dtype = np.result_type(a, b)
    wide = np.float64 if dtype == np.float64 else np.float32
    x: Any = np.asarray(a).astype(wide)
    y: Any = np.asarray(b).astype(wide)
    rest = np.where(np.isinf(y), x, fused(-np.trunc(x / y), y, x))
    return rest.astype(dtype)[()]


def above(a: Any, b: Any) -> Any:
    """Return the quotient of integers, rounded up."""
    return divide(a, b) + ((remainder(a, b) != 0) & (np.less(a, 0) == np.less(b, 0)))


def below(a: Any, b: Any) -> Any:
    """Return the quotient of integers, rounded down."""
    return divide(a, b) - ((remainder(a, b) != 0) & (np.less(a, 0) != np.less(b, 0)))


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


def bits(value: Any, dtype: Any) -> Any:
    """Return the same bits as another type of the same width."""
    value = np.asarray(value)
    return np.ascontiguousarray(value).view(dtype).reshape(value.shape)[()]


def rounded(value: Any) -> Any:
    """Return the nearest whole numbers, halves away from zero."""
    whole = np.trunc(value)
    unit = np.asarray(value).dtype.type(1)
    return whole + np.where(
        np.abs(value - whole) >= unit / 2, np.copysign(unit, value), unit - unit
    )


def count_bits(value: Any) -> Any:
    """Return how many bits of integers are one, in their own type."""
    return np.bitwise_count(unsigned(value)).astype(np.asarray(value).dtype)


def is_normal(value: Any) -> Any:
    """Return which floats are neither 0, subnormal, infinite nor NaN."""
    return np.isfinite(value) & (without_denormals(value) != 0)


def without_denormals(value: Any) -> Any:
    """Return floats, those below the least normal one as a zero of their sign."""
    value = np.asarray(value)
    exponent = {"float16": -14, "float64": -1022}.get(value.dtype.name, -126)
    least, zero = value.dtype.type(2.0**exponent), value.dtype.type(0)
    return np.where(np.abs(value) < least, np.copysign(zero, value), value)[()]


def maxnum(a: Any, b: Any) -> Any:
    """Return the larger of floats, as `max` of PTX: rather a number than NaN, of zeros +0."""
    return with_ordered_zeros(np.bitwise_and, np.fmax(a, b), a, b)


def minnum(a: Any, b: Any) -> Any:
    """Return the smaller of floats, as `min` of PTX: rather a number than NaN, of zeros -0."""
    return with_ordered_zeros(np.bitwise_or, np.fmin(a, b), a, b)


def maximum(a: Any, b: Any) -> Any:
    """Return the larger of floats, as `max.NaN` of PTX: NaN where one is, of zeros +0."""
    return with_ordered_zeros(np.bitwise_and, np.maximum(a, b), a, b)


def minimum(a: Any, b: Any) -> Any:
    """Return the smaller of floats, as `min.NaN` of PTX: NaN where one is, of zeros -0."""
    return with_ordered_zeros(np.bitwise_or, np.minimum(a, b), a, b)


def with_ordered_zeros(combine: Any, result: Any, a: Any, b: Any) -> Any:
    """Return `result`, with the bits of `a` and `b` combined where these are equal.

    NumPy leaves open which of two zeros it takes; bits of other equal numbers are the same.
    """
    is_equal = np.equal(a, b)
    if not is_equal.any():
        return result
    result = np.asarray(result)
    x, y = (bits_of(np.asarray(value, result.dtype)) for value in (a, b))
    return np.where(is_equal, combine(x, y), bits_of(result)).view(result.dtype)[()]


def clamped_to(value: Any, limit: Any, nan: bool) -> Any:
    """Return what `min.xorsign.abs` of PTX makes: the smaller size, and the product's sign."""
    value, limit = np.asarray(value), np.asarray(limit)
    size = (np.minimum if nan else np.fmin)(np.abs(value), np.abs(limit))
    sign = np.where(np.signbit(value) == np.signbit(limit), 1, -1).astype(size.dtype)
    return np.copysign(size, sign)[()]

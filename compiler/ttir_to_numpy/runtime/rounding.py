"""Floats rounded exactly once, and in any direction: sums, products, quotients, casts."""

from __future__ import annotations

from typing import Any

import numpy as np


def once(value: Any, dtype: Any) -> Any:
    """Return fp64 or integers rounded to nearest even in one step, to bf16 too.

    `ml_dtypes` goes by way of fp32, which rounds twice: here that step is to odd, which loses
    nothing that decides the second one.
    """
    value = np.asarray(value)
    wide = value.astype(np.longdouble if value.dtype.kind in "iu" else np.float64)
    return to_odd(wide, np.float32).astype(dtype)[()]


def to_odd(value: Any, dtype: Any) -> Any:
    """Return `value` in a narrower type: cut off, and its last bit set where that lost something.

    A second rounding then gives what a single one would have given.
    """
    cut = towards_zero(value, dtype)
    word = bits_of(cut)
    is_inexact = (cut.astype(value.dtype) != value) & np.isfinite(cut)
    return (word | is_inexact.astype(word.dtype)).view(dtype)


def bits_of(value: Any) -> Any:
    """Return the bits of floats as unsigned integers, in an array."""
    value = np.asarray(value)
    return np.ascontiguousarray(value).view(f"u{value.dtype.itemsize}").reshape(value.shape)


def towards_zero(value: Any, dtype: Any) -> Any:
    """Return `value` rounded towards zero; what is too large is the largest finite one."""
    value = np.asarray(value)
    near = np.asarray(value.astype(dtype))
    wide = np.longdouble if value.dtype.itemsize > 8 else np.float64
    too_far = np.abs(near.astype(wide)) > np.abs(value.astype(wide))
    word = bits_of(near)
    return (word - too_far.astype(word.dtype)).view(dtype).reshape(value.shape)[()]


def two_sum(a: Any, b: Any) -> Any:
    """Return the sum of two floats and what its rounding lost."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Any, b: Any) -> Any:
    """Return the product of two fp64 and what its rounding lost."""
    product = a * b
    split = np.float64(2**27 + 1)
    a_high, b_high = split * a, split * b
    a_high, b_high = a_high - (a_high - a), b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, np.where(np.isfinite(lost), lost, 0.0)


def fused(a: Any, b: Any, c: Any) -> Any:
    """Return `a * b + c` rounded once; of fp64 nearly so.

    In the next wider type the product is exact. Its sum with `c` is rounded there, and once more,
    which is wrong only near the middle of two results: such elements are looked at again.
    """
    dtype = np.result_type(a, b, c)
    if dtype == np.float64:
        return fused_exactly(a, b, c)
    wide = np.float64 if dtype == np.float32 else np.float32
    x, y, z = (np.asarray(value, dtype) for value in (a, b, c))
    total = np.asarray(np.add(np.multiply(x, y, dtype=wide), z, dtype=wide))
    near = np.asarray(total.astype(dtype))
    is_open = may_be_halfway(total, near)
    if is_open.any():
        x, y, z = (np.broadcast_to(value, total.shape)[is_open] for value in (x, y, z))
        near[is_open] = fused_exactly(x, y, z, dtype)
    return near[()]


NARROW = {"float16": (10, -14), "bfloat16": (7, -126), "float32": (23, -126)}
"""Bits of the mantissa, and the exponent of the least normal number."""


def may_be_halfway(total: Any, near: Any) -> Any:
    """Return which sums may be in the middle of two floats of the narrower type that `near` has.

    Of what is smaller than its normal numbers, or too large for `total`, more bits decide.
    """
    kept, exponent = NARROW[near.dtype.name]
    dropped = np.finfo(total.dtype).nmant - kept
    word = bits_of(total)
    is_halfway = (word & word.dtype.type((1 << dropped) - 1)) == word.dtype.type(1 << (dropped - 1))
    is_small = np.abs(near if kept > 10 else total) < near.dtype.type(2.0**exponent)
    if is_small.any():
        is_halfway |= is_small & (total != 0)
    if kept < 10:
        is_halfway |= np.isinf(total)
    return is_halfway


def fused_exactly(a: Any, b: Any, c: Any, dtype: Any = np.float64) -> Any:
    """Return `a * b + c` in `dtype`, from the sum and all that its roundings lost; slow."""
    x, y, z = (np.asarray(value, np.float64) for value in (a, b, c))
    product, lost = two_product(x, y) if dtype == np.float64 else (x * y, np.float64(0))
    total, rest = two_sum(product, z)
    rest = np.where(np.isfinite(total), rest + lost, 0.0)
    if dtype == np.float64:
        return np.where(rest == 0, total, total + rest)[()]
    odd = odd_sum(total, rest)
    return odd.astype(dtype)[()] if np.dtype(dtype).num < 256 else once(odd, dtype)


def odd_sum(total: Any, rest: Any) -> Any:
    """Return the sum of fp64 and a much smaller rest, rounded to odd."""
    total = np.asarray(total)
    down = np.where((rest < 0) == (total > 0), np.nextafter(total, 0.0), total)
    cut = np.where(rest != 0, down, total)
    word = bits_of(cut) | (np.asarray(rest) != 0).astype(np.uint64)
    return word.view(np.float64)


def directed(way: str, near: Any, sign: Any) -> Any:
    """Return `near` moved by one place where `way` asks for it: "rn", "rd", "ru" or "rz".

    `near` is rounded to nearest; `sign` is that of the exact value less `near`.
    """
    near = np.asarray(near)
    zero, most = near.dtype.type(0), near.dtype.type(np.inf)
    below, above = np.nextafter(near, -most), np.nextafter(near, most)
    if way == "rd":
        near = np.where(sign < 0, below, near)
    elif way == "ru":
        near = np.where(sign > 0, above, near)
    elif way == "rz":
        near = np.where((sign < 0) & (near > zero), below, near)
        near = np.where((sign > 0) & (near < zero), above, near)
    return near[()]


def add_directed(way: str, a: Any, b: Any) -> Any:
    """Return `a + b`, rounded as `way` says."""
    near = np.add(a, b)
    return directed(way, near, rest_of_sum(np.float64(a), np.float64(b), near))


def multiply_directed(way: str, a: Any, b: Any) -> Any:
    """Return `a * b`, rounded as `way` says."""
    near = np.multiply(a, b)
    product, lost = two_product(np.float64(a), np.float64(b))
    return directed(way, near, (product - np.float64(near)) + lost)


def divide_directed(way: str, a: Any, b: Any) -> Any:
    """Return `a / b`, rounded as `way` says."""
    near = np.divide(a, b)
    product, lost = two_product(np.float64(near), np.float64(b))
    rest = (np.float64(a) - product) - lost
    return directed(way, near, rest * np.sign(np.float64(b)))


def root_directed(way: str, a: Any) -> Any:
    """Return the square root, rounded as `way` says."""
    near = np.sqrt(a)
    product, lost = two_product(np.float64(near), np.float64(near))
    return directed(way, near, (np.float64(a) - product) - lost)


def fused_directed(way: str, a: Any, b: Any, c: Any) -> Any:
    """Return `a * b + c`, rounded once, as `way` says."""
    near = fused(a, b, c)
    product, lost = two_product(np.float64(a), np.float64(b))
    total, rest = two_sum(product, np.float64(c))
    return directed(way, near, (total - np.float64(near)) + (rest + lost))


def cast_directed(way: str, value: Any, dtype: Any) -> Any:
    """Return a number as another type of float, rounded as `way` says."""
    exact = np.asarray(value).astype(np.longdouble)
    near = exact.astype(dtype)
    return directed(way, near, exact - near.astype(np.longdouble))


def rest_of_sum(a: Any, b: Any, near: Any) -> Any:
    """Return what `a + b` has beyond `near`."""
    total, rest = two_sum(a, b)
    return (total - np.float64(near)) + rest

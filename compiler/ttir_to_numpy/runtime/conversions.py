"""Numbers as another type, as PTX converts them: what is out of range, NaN, and fp8."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ttir_to_numpy.runtime.rounding import bits_of, once


def to_integer(value: Any, dtype: Any) -> Any:
    """Return floats cut off towards zero, as near as `dtype` comes to them.

    NaN is 0, but where fp64 or 64 bits take part only the highest bit is one. A byte is what is
    left of 16 bits, since PTX has no conversion to 8.
    """
    value, wanted = np.asarray(value), np.dtype(dtype)
    wide = np.dtype(f"{wanted.kind}2") if wanted.itemsize == 1 else wanted
    limits = np.iinfo(wide)
    whole = np.trunc(value.astype(np.float64))
    is_number = ~np.isnan(whole)
    bounded = np.clip(whole, float(limits.min), np.nextafter(float(limits.max), 0.0))
    near = np.where(is_number, bounded, 0.0).astype(wide)
    near = np.where(whole >= float(limits.max), limits.max, near)
    if value.dtype.itemsize == 8 or wide.itemsize == 8:
        highest = np.array(1 << (8 * wide.itemsize - 1), f"u{wide.itemsize}").view(wide)
        near = np.where(is_number, near, highest)
    return near.astype(wanted)[()]


def to_float(value: Any, dtype: Any) -> Any:
    """Return `value` rounded to nearest even; fp8 holds its largest instead of overflowing."""
    value, dtype = np.asarray(value), np.dtype(dtype)
    if dtype.itemsize == 1:
        import ml_dtypes

        most = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
        value = np.clip(value.astype(np.float32), -most, most)
    return value.astype(dtype)[()]


def to_e4b15(value: Any) -> Any:
    """Return fp16 as Triton's fp8e4b15, which it keeps in int8.

    It has four bits of exponent with a bias of 15 and no infinity; halves are rounded away from
    zero, to at most 1.75, which NaN is too.
    """
    half = bits_of(value)
    size = np.minimum(half & 0x7FFF, 0x3F00)
    byte = ((size * 2 + 0x80) & 0xFFFF) >> 8 | (half >> 8 & 0x80)
    return byte.astype(np.uint8).view(np.int8)[()]


def from_e4b15(value: Any) -> Any:
    """Return fp8e4b15, kept in int8, as fp16."""
    byte = bits_of(np.asarray(value)).astype(np.uint16)
    return ((byte & 0x7F) << 7 | (byte & 0x80) << 8).view(np.float16)[()]


def e5_to_bf16(value: Any) -> Any:
    """Return fp8e5 as bf16, as Triton does it: only the exponent moves, infinities become 65536."""
    import ml_dtypes

    byte = bits_of(value)
    beyond = np.float32(65536) * (1 + (byte & np.uint8(3)).astype(np.float32) / 4)
    beyond = np.where(byte >= 128, -beyond, beyond)
    finite = np.asarray(value).astype(np.float32)
    return np.where(byte & 0x7F >= 0x7C, beyond, finite).astype(ml_dtypes.bfloat16)[()]


def to_bf16(value: Any) -> Any:
    """Return fp64 or integers as bf16, rounded once."""
    import ml_dtypes

    return once(value, ml_dtypes.bfloat16)

"""Products of matrices whose elements share scales in blocks (`tl.dot_scaled`)."""

from __future__ import annotations

from typing import Any

import numpy as np


def dot_scaled(a: Any, b: Any, c: Any, *, kinds: Any, scales: Any, packed: Any) -> Any:
    """Return the scaled `a @ b`, added to `c`, in the type of `c`.

    `kinds` name the elements ("e2m1" are two in a byte, the lower half first, along the inner axis
    where `packed` is true, else along the outer one); a scale has a row for each row of `a`, or
    column of `b`, and a number for each block of the inner axis. Both are multiplied out in bf16,
    in fp16 where one of the kinds is that, as Triton does before tensor cores that know scales.
    """
    import ml_dtypes

    wide = np.float16 if "fp16" in kinds else ml_dtypes.bfloat16
    left = scaled(a, kinds[0], scales[0], packed[0], wide)
    right = scaled(np.swapaxes(b, -1, -2), kinds[1], scales[1], packed[1], wide)
    product = np.matmul(left.astype(np.float32), np.swapaxes(right, -1, -2).astype(np.float32))
    return (product + np.asarray(c).astype(np.float32)).astype(np.asarray(c).dtype)


def scaled(value: Any, kind: str, scale: Any, is_packed: bool, dtype: Any) -> Any:
    """Return rows of elements, unpacked and multiplied by their scales, as `dtype`."""
    is_half = kind == "e2m1"
    value = unpacked(value, -1 if is_packed else -2) if is_half else of_kind(value, kind)
    value = value.astype(dtype)
    if scale is None:
        return value
    times = value.shape[-1] // np.shape(scale)[-1]
    return value * np.repeat(scale_of(scale, dtype), times, axis=-1)


def of_kind(value: Any, kind: str) -> Any:
    """Return elements as floats of `kind`, where they come as bytes."""
    import ml_dtypes

    if value.dtype.kind not in "iu":
        return value
    known = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
    return np.ascontiguousarray(value).view(known[kind])


def unpacked(value: Any, axis: int) -> Any:
    """Return the floats of four bits that stand two in a byte, the lower half first."""
    byte = np.asarray(value).astype(np.uint8)
    halves = np.stack([byte & np.uint8(15), byte >> np.uint8(4)], axis=-1)
    sizes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
    floats = np.concatenate([sizes, -sizes])[halves]
    if axis == -1:
        return floats.reshape(*floats.shape[:-2], -1)
    moved = np.swapaxes(floats, -1, -2)
    return moved.reshape(*moved.shape[:-3], -1, moved.shape[-1])


def scale_of(scale: Any, dtype: Any) -> Any:
    """Return scales as `dtype`: bytes are exponents with a bias of 127."""
    scale = np.asarray(scale)
    if scale.dtype.kind not in "iu":
        return scale.astype(dtype)
    word = scale.astype(np.uint8).astype(np.uint32) << np.uint32(23)
    return word.view(np.float32).astype(dtype)

"""Operations on whole tensors: shapes, reductions, scans, products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ttir_to_numpy.runtime.memory import over_addresses


def full(value: Any, *shape: int) -> Any:
    """Return `value` in every place of `shape`."""
    return over_addresses(lambda array: np.broadcast_to(array, shape), value)


def reshape(value: Any, *shape: int) -> Any:
    """Return the same elements in another shape, in row-major order."""
    return over_addresses(lambda array: np.reshape(array, shape), value)


def transpose(value: Any, *order: int) -> Any:
    """Return the tensor with its axes in another order."""
    return over_addresses(lambda array: np.transpose(array, order), value)


def select(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where `condition` is true, else `b`; also of pointers."""
    return over_addresses(lambda x, y: np.where(condition, x, y)[()], a, b)


def reduce(combine: Any, axis: int, *tensors: Any) -> Any:
    """Return the tensors combined along `axis`: halves with halves, as the threads of a warp do."""
    parts = [np.moveaxis(np.asarray(tensor), axis, 0) for tensor in tensors]
    parts = [lanes_first(*parts)] if len(parts) == 1 else parts
    while (size := len(parts[0])) > 1:
        half = size // 2
        made = combine(*[part[:half] for part in parts], *[part[half : 2 * half] for part in parts])
        made = made if isinstance(made, tuple) else (made,)
        shape = parts[0][:half].shape
        parts = [
            np.concatenate([np.broadcast_to(new, shape), part[2 * half :]])
            for new, part in zip(made, parts)
        ]
    results = tuple(part[0][()] for part in parts)
    return results if len(results) > 1 else results[0]


def lanes_first(value: Any) -> Any:
    """Return floats of 16 bits, whose sums show their order, so that halves are those of a warp.

    Along the first axis its 32 lanes come together first, then the warps.
    """
    size = len(value)
    if value.dtype.kind in "iu" or value.dtype.itemsize != 2 or size <= 32 or size % 32:
        return value
    return value.reshape(size // 32, 32, *value.shape[1:]).swapaxes(0, 1).reshape(value.shape)


def scan(combine: Any, axis: int, reverse: bool, *tensors: Any) -> Any:
    """Return what combining all elements up to each one gives, along `axis`, in doubling steps."""
    parts = [np.array(np.moveaxis(np.asarray(tensor), axis, 0)) for tensor in tensors]
    parts = [part[::-1] for part in parts] if reverse else parts
    distance, size = 1, len(parts[0])
    while distance < size:
        made = combine(*[part[:-distance] for part in parts], *[part[distance:] for part in parts])
        made = made if isinstance(made, tuple) else (made,)
        for part, new in zip(parts, made):
            part[distance:] = np.array(new)
        distance *= 2
    parts = [part[::-1] for part in parts] if reverse else parts
    results = tuple(np.moveaxis(part, 0, axis) for part in parts)
    return results if len(results) > 1 else results[0]


def elementwise(function: Any) -> Any:
    """Return `function`, which decides by its scalars, for arrays: element by element."""

    def over_elements(*tensors: Any) -> Any:
        arrays = np.broadcast_arrays(*tensors)
        if not arrays[0].shape:
            return function(*[array[()] for array in arrays])
        rows = [function(*[a[at] for a in arrays]) for at in np.ndindex(*arrays[0].shape)]
        if not isinstance(rows[0], tuple):
            return np.array(rows).reshape(arrays[0].shape)
        return tuple(np.array(column).reshape(arrays[0].shape) for column in zip(*rows))

    return over_elements


def in_packs(function: Any, pack: int) -> Any:
    """Return `function` of `pack` neighbours of each tensor, tensor by tensor, for arrays."""

    def over_packs(*tensors: Any) -> Any:
        arrays = np.broadcast_arrays(*tensors)
        rows = [array.reshape(-1, pack) for array in arrays]
        made = elementwise(function)(*[row[:, place] for row in rows for place in range(pack)])
        made = made if isinstance(made, tuple) else (made,)
        results = tuple(
            np.stack(made[first : first + pack], -1).reshape(arrays[0].shape)
            for first in range(0, len(made), pack)
        )
        return results if len(results) > 1 else results[0]

    return over_packs


def dot(a: Any, b: Any, c: Any, precision: str = "ieee") -> Any:
    """Return `a @ b + c` in the type of `c`; fp32 in the parts that `precision` names.

    Other axes may come before those of the matrices.
    """
    c = np.asarray(c)
    if a.dtype.kind in "iu":
        exact = np.float64 if a.dtype.itemsize == 1 else np.int64  # the former is fast
        whole = np.matmul(packed(a, exact), packed(b, exact)).astype(np.int64)
        return np.add(whole, c).astype(c.dtype)
    if a.dtype == np.float32 and precision != "ieee":
        parts = product_of_parts(packed(a, a.dtype), packed(b, b.dtype), precision)
        return np.add(parts, c.astype(np.float32, copy=False)).astype(c.dtype, copy=False)
    wide = np.float64 if a.dtype == np.float64 else np.float32
    product = np.matmul(packed(a, wide), packed(b, wide))
    return np.add(product, c.astype(wide, copy=False)).astype(c.dtype, copy=False)


def packed(value: Any, dtype: Any) -> Any:
    """Return `value` in a layout on which matrix products are fast."""
    cast = value.astype(dtype, copy=False)
    return np.ascontiguousarray(cast) if 0 in cast.strides else cast


def product_of_parts(a: Any, b: Any, precision: str) -> Any:
    """Return the product of fp32 matrices from parts of 10 bits (`tf32`) or 7 (`bf16`).

    `x3` takes two parts of each and leaves out the product of the smaller ones; `x6` takes three.
    Those are rounded, as the compiler says; of `tf32` alone tensor cores make themselves what they
    read, and cut off.
    """
    if precision == "tf32":
        return np.matmul(cut_to_tf32(a), cut_to_tf32(b))
    bits = 10 if precision.startswith("tf32") else 7
    count = {"x3": 2, "x6": 3}.get(precision[4:], 1)
    lefts, rights = parts_of(a, bits, count), parts_of(b, bits, count)
    total: Any = np.float32(0)
    for order in reversed(range(count)):
        for i in reversed(range(order + 1)):
            total = total + np.matmul(lefts[i], rights[order - i])
    return total


def parts_of(value: Any, bits: int, count: int) -> list[Any]:
    """Return fp32 of fewer bits of mantissa, the first nearest to `value`, then what it lacks."""
    parts, rest = [], value
    for _ in range(count):
        parts.append(shortened(rest, bits))
        rest = np.where(np.isfinite(rest), rest - parts[-1], np.float32(0))
    return parts


def cut_to_tf32(value: Any) -> Any:
    """Return fp32 with the ten bits of mantissa that TF32 has, the others cut off."""
    word = np.ascontiguousarray(value).view(np.uint32)
    return np.where(np.isfinite(value), (word & np.uint32(0xFFFFE000)).view(np.float32), value)


def shortened(value: Any, bits: int) -> Any:
    """Return fp32 with fewer bits of mantissa, rounded to nearest even."""
    word = np.ascontiguousarray(value).view(np.uint32)
    gone = np.uint32(23 - bits)
    half = np.uint32((1 << (22 - bits)) - 1)
    near = (word + half + ((word >> gone) & np.uint32(1))) >> gone << gone
    return np.where(np.isfinite(value), near.view(np.float32), value)


def histogram(value: Any, size: int, mask: Any = True) -> Any:
    """Return how often each of the numbers below `size` occurs where `mask` is true."""
    chosen = np.asarray(value)[np.broadcast_to(mask, np.shape(value))]
    counted = chosen[(chosen >= 0) & (chosen < size)]
    return np.bincount(counted, minlength=size).astype(np.int32)


def join(a: Any, b: Any) -> Any:
    """Return the two tensors side by side along a new last axis."""
    return over_addresses(lambda x, y: np.stack([x, y], -1), a, b)


def concatenate(a: Any, b: Any) -> Any:
    """Return the elements of `a`, then those of `b`."""
    return over_addresses(lambda x, y: np.concatenate([x, y]), a, b)


def loop(start: Any, end: Any, step: Any, dtype: Any = np.int32) -> Any:
    """Yield the numbers from `start` to before `end`, as integers of the kernel's type.

    Raises ValueError where it would never end.
    """
    if int(step) <= 0 and int(start) < int(end):
        raise ValueError(f"a loop from {start} to {end} in steps of {step} never ends")
    for number in range(int(start), int(end), max(int(step), 1)):
        yield dtype(number)


def unsigned_loop(start: Any, end: Any, step: Any, dtype: Any = np.int32) -> Any:
    """Yield what `loop` does, of integers whose bits are those of unsigned ones."""
    kind = f"u{dtype().itemsize}"
    first, last, step = (int(np.array(value, dtype).view(kind)) for value in (start, end, step))
    for number in loop(first, last, step, int):
        yield np.array(number, kind).view(dtype)[()]


def check(condition: Any, message: str) -> None:
    """Raise AssertionError unless `condition` holds for every element."""
    if not np.all(condition):
        raise AssertionError(message)


def show(prefix: str, hexadecimal: bool, *values: Any) -> None:
    """Print values as a kernel does."""
    shown = [np.vectorize(hex)(value) if hexadecimal else value for value in values]
    print(prefix, *shown)

"""Operations on whole tensors with a leading axis of programs: shapes, reductions, products.

Any axis may have the length 1 if all elements along it are equal; operations that need the whole
shape receive it. They combine numbers in the same order as the functions in
`compiler.ttir_to_numpy.runtime.tensor_ops`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from compiler.ttir_to_numpy.runtime.number_ops import maximum, maxnum, minimum, minnum
from compiler.ttir_to_numpy.runtime.tensor_ops import lanes_first
from launch.buffers.element_types import Array
from launch.cpu.pointer import Pointer, merged
from launch.cpu.undefined_lanes import OperationLanes

Combine = Callable[..., Any]
_EXTREMES: Mapping[Combine, np.ufunc] = {
    maxnum: np.fmax, minnum: np.fmin, maximum: np.maximum, minimum: np.minimum
}  # fmt: skip
"""NumPy's equivalents, which differ only in the order of +0 and -0."""


def full(value: Any, *shape: int) -> Any:
    """Return a tensor of `shape` filled with `value`."""
    if isinstance(value, Pointer):
        return value.mapped(lambda lanes: full(lanes, *shape), len(shape))
    if value.shape[1:] == shape:
        return value
    return np.broadcast_to(value, (value.shape[0], *shape))


def reshape(value: Any, *shape: int) -> Any:
    """Return the same elements in another shape, in row-major order."""
    if isinstance(value, Pointer):
        return value.mapped(lambda lanes: reshape(lanes, *shape), len(shape))
    return value.reshape(value.shape[0], *shape)


def transpose(value: Any, *order: int) -> Any:
    """Return the tensor with its axes in another order."""
    if isinstance(value, Pointer):
        return value.mapped(lambda lanes: transpose(lanes, *order), len(order))
    return value.transpose(0, *[axis + 1 for axis in order])


def select(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where `condition` is true, else `b`; both may be pointers."""
    if isinstance(a, Pointer):
        return merged(lambda x, y: np.where(condition, x, y), a, b)
    return np.where(condition, a, b)


def reduce(combine: Combine, axis: int, *tensors: Array) -> Any:
    """Return the tensors combined along `axis`: halves with halves, as the threads of a warp do.

    `combine` gets the leading axis as the last one, so that scalars from outside broadcast.
    """
    if isinstance(combine, np.ufunc):
        return _reduced_by(combine, axis + 1, tensors[0])
    if combine in _EXTREMES:
        quick = _reduced_by(_EXTREMES[combine], axis + 1, tensors[0])
        return quick if np.all(quick) else _reduced_by(combine, axis + 1, tensors[0])
    parts = [np.moveaxis(tensor, (axis + 1, 0), (0, -1)) for tensor in _alike(tensors)]
    parts = [lanes_first(*parts)] if len(parts) == 1 else parts
    while (size := len(parts[0])) > 1:
        half = size // 2
        made = combine(*[part[:half] for part in parts], *[part[half : 2 * half] for part in parts])
        made = made if isinstance(made, tuple) else (made,)
        parts = [_of_programs(part, made) for part in parts]
        shape = parts[0][:half].shape
        parts = [
            _joined(np.broadcast_to(new, shape), part[2 * half :])
            for new, part in zip(made, parts, strict=True)
        ]
    results = tuple(np.moveaxis(part[0], -1, 0) for part in parts)
    return results if len(results) > 1 else results[0]


def _reduced_by(combine: Combine, axis: int, tensor: Array) -> Array:
    """Return one tensor reduced by `combine`; for integers, the order makes no difference."""
    if tensor.dtype.kind in "iu" and isinstance(combine, np.ufunc):
        reduced: Array = combine.reduce(tensor, axis=axis, dtype=tensor.dtype)
        return reduced
    if tensor.dtype.itemsize == 2:
        tensor = np.moveaxis(lanes_first(np.moveaxis(tensor, axis, 0)), 0, axis)
    before = (slice(None),) * axis
    while (size := tensor.shape[axis]) > 1:
        half = size // 2
        halves = tensor[(*before, slice(half))], tensor[(*before, slice(half, 2 * half))]
        rest = tensor[(*before, slice(2 * half, size))]
        tensor = combine(*halves)
        tensor = np.concatenate([tensor, rest], axis) if size % 2 else tensor
    last: Array = tensor.take(0, axis)
    return last


def _of_programs(part: Array, made: Sequence[Array]) -> Array:
    """Return `part` broadcast along its last axis, the programs, to the length in `made`."""
    count = max(new.shape[-1] if np.ndim(new) else 1 for new in made)
    if part.shape[-1] >= count:
        return part
    return np.array(np.broadcast_to(part, (*part.shape[:-1], count)))


def _joined(new: Array, rest: Array) -> Array:
    return np.concatenate([new, rest]) if len(rest) else new


def scan(combine: Combine, axis: int, reverse: bool, *tensors: Array) -> Any:
    """Return the inclusive scan along `axis`, in doubling steps."""
    parts = [np.array(np.moveaxis(tensor, (axis + 1, 0), (0, -1))) for tensor in _alike(tensors)]
    parts = [part[::-1] for part in parts] if reverse else parts
    distance, size = 1, len(parts[0])
    while distance < size:
        made = combine(*[part[:-distance] for part in parts], *[part[distance:] for part in parts])
        made = made if isinstance(made, tuple) else (made,)
        parts = [_of_programs(part, made) for part in parts]
        for part, new in zip(parts, made, strict=True):
            part[distance:] = np.array(new)
        distance *= 2
    parts = [part[::-1] for part in parts] if reverse else parts
    results = tuple(np.moveaxis(part, (0, -1), (axis + 1, 0)) for part in parts)
    return results if len(results) > 1 else results[0]


_SMALLEST_NORMAL = np.float32(2.0**-14)
_STEPS = np.float32(2.0**24)


def to_half(value: Array) -> Array:
    """Return fp32 as fp16, to nearest even.

    NumPy takes 70 ns for each underflow. This function thus rounds subnormal halves as integers.
    """
    size = np.abs(value)
    small = size < _SMALLEST_NORMAL
    if not small.any():
        return value.astype(np.float16)
    steps = np.rint(np.where(small, size, 0) * _STEPS).astype(np.uint16)
    steps |= np.signbit(value).astype(np.uint16) << np.uint16(15)
    halves = np.where(small, np.float32(0), value).astype(np.float16)
    return np.where(small, steps, halves.view(np.uint16)).view(np.float16)


def gather(
    source: Array, index: Array, axis: int, undefined: OperationLanes | None = None
) -> Array:
    """Return the elements at `index` along `axis`; an index out of bounds is clipped.

    Lanes with such an index are `undefined`.
    """
    count = max(len(source), len(index))
    source = np.broadcast_to(source, (count, *source.shape[1:]))
    index = np.broadcast_to(index, (count, *index.shape[1:]))
    inside = np.clip(index, -source.shape[axis + 1], source.shape[axis + 1] - 1)
    gathered = np.take_along_axis(source, inside, axis + 1)
    outside = (index < 0) | (index >= source.shape[axis + 1])
    if undefined is None or not outside.any():
        return gathered
    values = undefined.values(outside, source.dtype)
    return gathered if values is None else np.where(outside, values, gathered)


def histogram(
    value: Array, size: int, mask: Any = True, undefined: OperationLanes | None = None
) -> Array:
    """Return the number of occurrences of each number below `size` where `mask` is true.

    It is `undefined` whether other numbers count.
    """
    counted = (value >= 0) & (value < size) & mask
    outside = ~counted & mask
    if undefined is not None and outside.any():
        values = undefined.values(outside, np.int32)
        if values is not None:
            value = np.where(outside, values % size, value)
            counted = counted | outside
    count = len(counted)
    bins = np.arange(count, dtype=np.int64)[:, None] * size + value.astype(np.int64)
    counts = np.bincount(bins[counted], minlength=count * size)
    return counts.reshape(count, size).astype(np.int32)


def join(a: Any, b: Any) -> Any:
    """Return the two tensors stacked along a new last axis."""
    return _paired(lambda x, y: np.stack(np.broadcast_arrays(x, y), -1), a, b)


def concatenate(a: Any, b: Any) -> Any:
    """Return the elements of `a`, then those of `b`."""
    return _paired(lambda x, y: np.concatenate(_alike([x, y]), 1), a, b)


def _alike(values: Sequence[Array]) -> list[Array]:
    """Return the values broadcast to one length of their leading axes."""
    count = max(len(value) for value in values)
    return [np.broadcast_to(value, (count, *value.shape[1:])) for value in values]


def _paired(make: Callable[[Array, Array], Array], a: Any, b: Any) -> Any:
    return merged(make, a, b) if isinstance(a, Pointer) else make(a, b)

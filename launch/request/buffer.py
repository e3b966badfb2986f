"""Buffers and views: the elements of an allocation that shapes and strides can reach.

All values are elements, as Python integers, so that nothing overflows before a limit check.
"""

from collections.abc import Sequence
from math import prod

from compiler.constexpr import pointer_below
from compiler.rejection import FieldError, RequestRejected
from compiler.type_name import UnknownType, canonical_dtype
from launch.request.argument_schema import MAX_ALIGN_BYTES, BufferArgument, ViewArgument
from launch.request.bound_arguments import BoundAllocation, Buffer
from launch.request.element import ITEM_BYTES
from launch.request.initializer import bind_init


def contiguous_strides(shape: Sequence[int]) -> list[int]:
    """Return the strides of C order."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def reached(shape: Sequence[int], strides: Sequence[int], offset: int) -> range:
    """Return the range of element indices of a buffer; empty for a buffer without elements."""
    if 0 in shape:
        return range(offset, offset)
    ends = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    lowest = offset + sum(end for end in ends if end < 0)
    highest = offset + sum(end for end in ends if end > 0)
    return range(lowest, highest + 1)


def may_overlap(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return True if two elements could share memory.

    False is certain. Some layouts that interleave without sharing also return True.
    """
    if 0 in shape:
        return False
    axes = zip(shape, strides, strict=True)
    used = sorted((abs(stride), extent) for extent, stride in axes if extent > 1)
    span = 0
    for stride, extent in used:
        if stride <= span:
            return True
        span += stride * (extent - 1)
    return False


MAX_BYTES = 2 * 1024**3
"""Default limit of all allocations of one run."""


def bind_buffer(
    name: str, index: int, argument: BufferArgument, align_bytes: int, at: str
) -> tuple[BoundAllocation, Buffer]:
    """Return allocation number `index` and the buffer in it.

    `align_bytes` is the default alignment. Raises RequestRejected.
    """
    dtype = _dtype(argument.dtype, pointer_below(at, "dtype"))
    strides = _strides(argument.shape, argument.strides, at)
    elements = _elements(argument, strides, ITEM_BYTES[dtype], at)
    _check_use(argument, strides, at)
    init = None
    if argument.init is not None:
        init = bind_init(argument.init, argument.shape, dtype, pointer_below(at, "init"))
    allocation = BoundAllocation(
        name=name,
        dtype=dtype,
        elements=elements,
        align_bytes=_alignment(argument.align_bytes or align_bytes, at),
        init=init,
        output=argument.output,
    )
    return allocation, Buffer(
        allocation=index,
        shape=argument.shape,
        strides=strides,
        offset=argument.offset,
        dtype=dtype,
        output=argument.output,
    )


def view_of(base: Buffer, allocation: BoundAllocation, argument: ViewArgument, at: str) -> Buffer:
    """Return a view of the allocation of `base`; the shape of `base` is the default.

    Raises RequestRejected for a view that reaches beyond the allocation.
    """
    shape = base.shape if argument.shape is None else argument.shape
    strides = base.strides
    if argument.shape is not None or argument.strides is not None:
        strides = _strides(shape, argument.strides, at)
    offset = base.offset + argument.offset
    span = reached(shape, strides, offset)
    if span.start < 0 or span.stop > allocation.elements:
        message = (
            f"reaches elements {span.start} to {span.stop - 1} of {allocation.name}, "
            f"which has {allocation.elements}"
        )
        raise RequestRejected(FieldError(at, message))
    return Buffer(
        allocation=base.allocation,
        shape=shape,
        strides=strides,
        offset=offset,
        dtype=base.dtype,
        output=False,
    )


def check_size(allocations: Sequence[BoundAllocation], max_bytes: int, at: str) -> None:
    """Raise RequestRejected if the allocations take more than `max_bytes` together."""
    size_bytes = sum(allocation.size_bytes for allocation in allocations)
    if size_bytes > max_bytes:
        largest = max(allocations, key=lambda allocation: allocation.size_bytes)
        message = (
            f"the buffers take {size_bytes} bytes together, more than the {max_bytes} allowed; "
            f"the largest is {largest.name} with {largest.size_bytes}"
        )
        raise RequestRejected(FieldError(at, message))


def _check_use(argument: BufferArgument, strides: list[int], at: str) -> None:
    if argument.init is None and not argument.output:
        message = 'give it an `init` such as {"kind": "zeros"}, or "output": true, or both'
        raise RequestRejected(FieldError(at, message))
    if may_overlap(argument.shape, strides):
        message = (
            "elements could share memory with these strides; give a buffer without strides, "
            'and the argument as {"view": {"of": ..., "shape": [...], "strides": [...]}}'
        )
        raise RequestRejected(FieldError(pointer_below(at, "strides"), message))


def _dtype(argument: str, at: str) -> str:
    try:
        dtype = canonical_dtype(argument)
    except UnknownType as error:
        raise RequestRejected(FieldError(at, str(error))) from None
    if dtype not in ITEM_BYTES:
        raise RequestRejected(FieldError(at, f"a buffer cannot have the dtype {dtype}"))
    return dtype


def _strides(shape: list[int], strides: list[int] | None, at: str) -> list[int]:
    if strides is None:
        return contiguous_strides(shape)
    if len(strides) != len(shape):
        message = f"{len(strides)} strides for a shape of {len(shape)} dimensions"
        raise RequestRejected(FieldError(pointer_below(at, "strides"), message))
    return strides


def _elements(argument: BufferArgument, strides: list[int], item_bytes: int, at: str) -> int:
    span = reached(argument.shape, strides, argument.offset)
    if span.start < 0:
        message = f"negative strides reach {-span.start} elements before the memory; raise `offset`"
        raise RequestRejected(FieldError(pointer_below(at, "offset"), message))
    if span.stop * item_bytes >= 2**63:
        message = f"{span.stop} elements are more than 64-bit addresses can count"
        raise RequestRejected(FieldError(pointer_below(at, "shape"), message))
    return span.stop


def _alignment(align_bytes: int, at: str) -> int:
    if align_bytes & (align_bytes - 1):
        message = f"{align_bytes} is not a power of two up to {MAX_ALIGN_BYTES}"
        raise RequestRejected(FieldError(pointer_below(at, "align_bytes"), message))
    return align_bytes

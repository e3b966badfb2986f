"""Buffers and views: their extents in their allocation, in exact integers against limits."""

from collections.abc import Sequence

from compiler.launch.bound import Allocation, Buffer
from compiler.launch.element import ITEM_BYTES
from compiler.launch.initializer import bind_init
from compiler.launch.layout import contiguous_strides, may_overlap, reached
from compiler.launch.wire import MAX_ALIGN_BYTES, WrittenBuffer, WrittenView
from compiler.rejection import Fault, RequestRejected
from compiler.types import UnknownType, canonical_dtype
from compiler.value import pointer_below

MAX_BYTES = 2 * 1024**3
"""Default of what the allocations of one run may take together."""


def bind_buffer(
    name: str, index: int, written: WrittenBuffer, align_bytes: int, at: str
) -> tuple[Allocation, Buffer]:
    """Return allocation number `index` and the buffer in it.

    `align_bytes` holds where the request says nothing. Raises RequestRejected.
    """
    dtype = _dtype(written.dtype, pointer_below(at, "dtype"))
    strides = _strides(written.shape, written.strides, at)
    elements = _elements(written, strides, ITEM_BYTES[dtype], at)
    _check_use(written, strides, at)
    init = None
    if written.init is not None:
        init = bind_init(written.init, written.shape, dtype, pointer_below(at, "init"))
    allocation = Allocation(
        name=name,
        dtype=dtype,
        elements=elements,
        align_bytes=_alignment(written.align_bytes or align_bytes, at),
        init=init,
        output=written.output,
    )
    return allocation, Buffer(
        allocation=index,
        shape=written.shape,
        strides=strides,
        offset=written.offset,
        dtype=dtype,
        output=written.output,
    )


def view_of(base: Buffer, allocation: Allocation, written: WrittenView, at: str) -> Buffer:
    """Return another look at the allocation of `base`; without a shape it has that of `base`.

    Raises RequestRejected for a view that leaves the allocation.
    """
    shape = base.shape if written.shape is None else written.shape
    strides = base.strides
    if written.shape is not None or written.strides is not None:
        strides = _strides(shape, written.strides, at)
    offset = base.offset + written.offset
    span = reached(shape, strides, offset)
    if span.start < 0 or span.stop > allocation.elements:
        message = (
            f"reaches elements {span.start} to {span.stop - 1} of {allocation.name}, "
            f"which has {allocation.elements}"
        )
        raise RequestRejected(Fault(at, message))
    return base.model_copy(
        update={"shape": shape, "strides": strides, "offset": offset, "output": False}
    )


def check_size(allocations: Sequence[Allocation], max_bytes: int, at: str) -> None:
    """Raise RequestRejected when the allocations take more than `max_bytes` together."""
    size_bytes = sum(allocation.size_bytes for allocation in allocations)
    if size_bytes > max_bytes:
        largest = max(allocations, key=lambda allocation: allocation.size_bytes)
        message = (
            f"the buffers take {size_bytes} bytes together, more than the {max_bytes} allowed; "
            f"the largest is {largest.name} with {largest.size_bytes}"
        )
        raise RequestRejected(Fault(at, message))


def _check_use(written: WrittenBuffer, strides: list[int], at: str) -> None:
    if written.init is None and not written.output:
        message = 'give it an `init` such as {"kind": "zeros"}, or "output": true, or both'
        raise RequestRejected(Fault(at, message))
    if may_overlap(written.shape, strides):
        message = (
            "elements could share memory with these strides; give a buffer without, "
            'and the argument as {"view": {"of": ..., "shape": [...], "strides": [...]}}'
        )
        raise RequestRejected(Fault(pointer_below(at, "strides"), message))


def _dtype(written: str, at: str) -> str:
    try:
        dtype = canonical_dtype(written)
    except UnknownType as error:
        raise RequestRejected(Fault(at, str(error))) from None
    if dtype not in ITEM_BYTES:
        raise RequestRejected(Fault(at, f"there are no buffers of {dtype}"))
    return dtype


def _strides(shape: list[int], strides: list[int] | None, at: str) -> list[int]:
    if strides is None:
        return contiguous_strides(shape)
    if len(strides) != len(shape):
        message = f"{len(strides)} strides for a shape of {len(shape)} dimensions"
        raise RequestRejected(Fault(pointer_below(at, "strides"), message))
    return strides


def _elements(written: WrittenBuffer, strides: list[int], item_bytes: int, at: str) -> int:
    span = reached(written.shape, strides, written.offset)
    if span.start < 0:
        message = f"negative strides reach {-span.start} elements before the memory; raise `offset`"
        raise RequestRejected(Fault(pointer_below(at, "offset"), message))
    if span.stop * item_bytes >= 2**63:
        message = f"{span.stop} elements are more than 64-bit addresses can count"
        raise RequestRejected(Fault(pointer_below(at, "shape"), message))
    return span.stop


def _alignment(align_bytes: int, at: str) -> int:
    if align_bytes & (align_bytes - 1):
        message = f"{align_bytes} is not a power of two up to {MAX_ALIGN_BYTES}"
        raise RequestRejected(Fault(pointer_below(at, "align_bytes"), message))
    return align_bytes

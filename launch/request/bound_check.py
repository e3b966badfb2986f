"""Checks bound arguments from a store: binding must be able to produce them."""

from collections.abc import Iterator, Mapping
from math import prod

from compiler.constexpr import MAX_DEPTH, canonical_value, pointer_below
from compiler.rejection import FieldError, RequestRejected, pointer, shown
from compiler.request.signature import MAX_PARAMETERS
from compiler.type_name import SCALAR_BYTES
from launch.request.argument_binding import check_descriptor
from launch.request.argument_schema import MAX_ALIGN_BYTES, MAX_ARGUMENTS, MAX_RANK, MAX_TUPLE_ITEMS
from launch.request.bound_arguments import (
    Argument,
    BoundAllocation,
    BoundArguments,
    Buffer,
    Descriptor,
    Scalar,
    TupleArgument,
)
from launch.request.buffer import MAX_BYTES, check_size, may_overlap, reached
from launch.request.element import BOOLEANS, ITEM_BYTES, is_floating
from launch.request.initializer import bind_init

_AT = "/bound"


def check_bound(bound: BoundArguments) -> int:
    """Return the number of arguments, including items of tuples.

    Raises RequestRejected for arguments that binding never produces.
    """
    if len(bound.arguments) > MAX_PARAMETERS or len(bound.allocations) > MAX_ARGUMENTS:
        raise _refused("", "too many arguments")
    for allocation in bound.allocations:
        _check_allocation(allocation)
    check_size(bound.allocations, MAX_BYTES, _AT)
    owners: dict[int, Buffer] = {}
    count = 0
    for name, argument in _walked(bound.arguments):
        count += 1
        if isinstance(argument, Scalar):
            _check_scalar(argument, name)
        elif isinstance(argument, Buffer | Descriptor):
            base = argument.base if isinstance(argument, Descriptor) else argument
            allocation = _check_buffer(base, bound, name)
            if isinstance(argument, Descriptor):
                check_descriptor(argument, allocation, _AT + pointer(name))
            if allocation.name == name:
                owners[base.allocation] = base
    for index, allocation in enumerate(bound.allocations):
        _check_owner(allocation, owners.get(index))
    return count


def _walked(arguments: Mapping[str, Argument]) -> Iterator[tuple[str, Argument]]:
    """Yield all arguments by name, items of tuples as pair.0."""
    left: list[tuple[str, Argument, int]] = [(name, each, 0) for name, each in arguments.items()]
    for name in arguments:
        if not name.isidentifier():
            raise _refused("", f"{shown(name)} is not a parameter name")
    while left:
        name, argument, depth = left.pop()
        yield name, argument
        if isinstance(argument, TupleArgument):
            if depth >= MAX_DEPTH or len(argument.items) > MAX_TUPLE_ITEMS:
                raise _refused(name, "a tuple nests too deep, or is too long")
            items = enumerate(argument.items)
            left += [(f"{name}.{index}", item, depth + 1) for index, item in items]


def _check_allocation(allocation: BoundAllocation) -> None:
    align_bytes = allocation.align_bytes
    is_fine = (
        allocation.dtype in ITEM_BYTES
        and 0 <= allocation.elements < 2**63
        and 1 <= align_bytes <= MAX_ALIGN_BYTES
        and not align_bytes & (align_bytes - 1)
        and allocation.body is None
        and (allocation.output or allocation.init is not None)
    )
    if not is_fine:
        raise _refused(allocation.name, "binding makes no such allocation")


def _check_buffer(buffer: Buffer, bound: BoundArguments, name: str) -> BoundAllocation:
    """Return the allocation that contains every element of `buffer`."""
    if not 0 <= buffer.allocation < len(bound.allocations):
        raise _refused(name, "its allocation does not exist")
    allocation = bound.allocations[buffer.allocation]
    rank = len(buffer.shape)
    is_shaped = rank == len(buffer.strides) <= MAX_RANK and min([0, *buffer.shape]) == 0
    if not is_shaped or buffer.dtype != allocation.dtype:
        raise _refused(name, "its shape, strides or dtype is not allowed")
    span = reached(buffer.shape, buffer.strides, buffer.offset)
    if span.start < 0 or span.stop > allocation.elements:
        raise _refused(name, "it reaches beyond its allocation")
    return allocation


def _check_owner(allocation: BoundAllocation, owner: Buffer | None) -> None:
    """Check an allocation against its owner: the buffer that its init fills."""
    if owner is None or owner.output != allocation.output:
        raise _refused(allocation.name, "no argument owns its memory")
    if may_overlap(owner.shape, owner.strides):
        raise _refused(allocation.name, "its elements could share memory")
    if allocation.init is not None:
        at = pointer_below(_AT + pointer(allocation.name), "init")
        if bind_init(allocation.init, [prod(owner.shape)], allocation.dtype, at) != allocation.init:
            raise RequestRejected(FieldError(at, "is not complete"))


def _check_scalar(scalar: Scalar, name: str) -> None:
    value, dtype = scalar.value, scalar.dtype
    if dtype in BOOLEANS:
        is_fine = isinstance(value, bool)
    else:
        kind = "float" if is_floating(dtype) else "int"
        is_fine = dtype in SCALAR_BYTES and isinstance(value, dict) and value.keys() == {kind}
        is_fine = is_fine and canonical_value(value, _AT + pointer(name)) == value
    if not is_fine:
        raise _refused(name, f"it is no {shown(dtype)}")


def _refused(name: str, why: str) -> RequestRejected:
    return RequestRejected(FieldError(_AT + pointer(name), why))

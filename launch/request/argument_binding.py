"""Binds the arguments of a request, and checks every address range.

Plain numbers get the dtypes that Triton gives Python numbers. Host tensor descriptors obey the
rules of `triton.tools.tensor_descriptor`. `inference` and `hint_check` check arguments against the
kernel. `check_bound` checks what a store returned: binding must be able to produce it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from compiler.constexpr import MAX_DEPTH, canonical_value, pointer_below
from compiler.rejection import (
    MAX_ERRORS,
    FieldError,
    RequestRejected,
    collecting,
    did_you_mean,
    pointer,
    shown,
)
from compiler.request.signature import MAX_PARAMETERS
from compiler.type_name import SCALAR_BYTES
from launch.request.argument_schema import (
    MAX_ALIGN_BYTES,
    MAX_ARGUMENTS,
    MAX_RANK,
    MAX_TUPLE_ITEMS,
    BufferArgument,
    DescriptorArgument,
    ViewArgument,
    WrappedDescriptor,
    WrappedTuple,
    WrappedView,
)
from launch.request.bound_arguments import (
    Argument,
    BoundAllocation,
    BoundArguments,
    Buffer,
    Descriptor,
    NoValue,
    Scalar,
    TupleArgument,
)
from launch.request.buffer import MAX_BYTES, bind_buffer, check_size, may_overlap, reached, view_of
from launch.request.element import BOOLEANS, ITEM_BYTES, is_floating
from launch.request.initializer import bind_init
from launch.request.request_part import read
from launch.request.scalar import bind_scalar, is_scalar

ARGUMENTS = "/arguments"
DESCRIPTOR_ALIGN_BYTES = 128
MAX_DIMENSIONS = 5
MAX_BLOCK_ELEMENTS = 1_048_576  # of any Triton tensor
_AT = "/bound"


def check_descriptor(descriptor: Descriptor, allocation: BoundAllocation, at: str) -> None:
    """Raise RequestRejected for a descriptor that the hardware cannot have.

    Its base lies in `allocation`.
    """
    base = descriptor.base
    errors = [*_base_errors(base, allocation, at), *_block_errors(descriptor.block_shape, base, at)]
    if descriptor.padding == "nan" and not is_floating(base.dtype):
        message = f"padding nan needs a floating-point dtype, not {base.dtype}"
        errors.append(FieldError(pointer_below(at, "padding"), message))
    if errors:
        raise RequestRejected(*errors)


def _base_errors(base: Buffer, allocation: BoundAllocation, at: str) -> list[FieldError]:
    at = pointer_below(at, "base")
    item_bytes = ITEM_BYTES[base.dtype]
    if not 1 <= len(base.shape) <= MAX_DIMENSIONS or 0 in base.shape:
        message = f"a descriptor has 1 to {MAX_DIMENSIONS} dimensions, none of them 0"
        return [FieldError(at, message)]
    messages = []
    if allocation.align_bytes % 16 or base.offset * item_bytes % 16:
        messages.append("the base of a descriptor must be aligned to 16 bytes")
    if base.strides[-1] != 1:
        messages.append("the last dimension of a descriptor must have stride 1")
    if any(stride * item_bytes % 16 for stride in base.strides[:-1]):
        messages.append("all strides but the last must be multiples of 16 bytes")
    if any(stride < 0 for stride in base.strides):
        messages.append("strides of a descriptor cannot be negative")
    return [FieldError(at, message) for message in messages]


def _block_errors(block: list[int], base: Buffer, at: str) -> list[FieldError]:
    at = pointer_below(at, "block_shape")
    if len(block) != len(base.shape):
        return [FieldError(at, f"{len(block)} dimensions, but the base has {len(base.shape)}")]
    if any(extent < 1 or extent & (extent - 1) for extent in block):
        return [FieldError(at, "every extent must be a power of two")]
    if prod(block) > MAX_BLOCK_ELEMENTS:
        return [FieldError(at, f"a block has at most {MAX_BLOCK_ELEMENTS} elements")]
    return []


_BUFFER = '{"shape": [8, 1000], "dtype": "fp32", "init": {"kind": "normal"}}'
_KINDS = f'a number, true, false, null, a buffer such as {_BUFFER} (an output has "output": true '
_KINDS += 'instead of `init`), {"value", "dtype"}, {"tuple": [...]}, {"view": {...}} or '
_KINDS += '{"descriptor": {...}}'
_MAX_WAITING = 32


@dataclass(frozen=True, slots=True)
class BoundBefore:
    """Arguments of earlier cases, each with the object of the request that describes it.

    Cases share these objects where they change nothing.
    """

    buffers: dict[tuple[str, int, int], tuple[Any, BoundAllocation, Buffer]] = field(
        default_factory=dict
    )
    """By name, number and alignment."""
    views: dict[str, tuple[Any, ViewArgument]] = field(default_factory=dict)


def bind_arguments(
    raw: Mapping[str, Any], max_bytes: int = MAX_BYTES, before: BoundBefore | None = None
) -> BoundArguments:
    """Return the bound form of a request's arguments; seeds must be there.

    What has the very same description `before` is not read again. Raises RequestRejected with every
    error found, among them more than `max_bytes` in all.
    """
    if len(raw) > MAX_PARAMETERS:
        raise RequestRejected(FieldError(ARGUMENTS, f"more than {MAX_PARAMETERS} arguments"))
    errors: list[FieldError] = []
    binder = _Binder(raw, before or BoundBefore())
    for name in raw:
        if len(errors) >= MAX_ERRORS:
            break
        with collecting(errors):
            if not name.isidentifier():
                raise RequestRejected(
                    FieldError(ARGUMENTS + pointer(name), f"{shown(name)} is not a parameter name")
                )
            binder.named(name)
    with collecting(errors):
        check_size(binder.allocations, max_bytes, ARGUMENTS)
    if errors:
        raise RequestRejected(*errors)
    arguments = {name: binder.bound[name] for name in raw}
    return BoundArguments(allocations=binder.allocations, arguments=arguments)


class _Binder:
    """Binds arguments by name; the base of a view comes before the view."""

    def __init__(self, raw: Mapping[str, Any], before: BoundBefore) -> None:
        self._raw = raw
        self._before = before
        self._entered: set[str] = set()
        self._waiting = 0  # views whose base is not bound yet
        self.bound: dict[str, Argument] = {}
        self.allocations: list[BoundAllocation] = []

    def named(self, name: str) -> None:
        if name not in self._entered:
            self._entered.add(name)
            at = ARGUMENTS + pointer(name)
            self.bound[name] = self._bind(name, self._raw[name], at, depth=0)

    def _bind(self, name: str, raw: Any, at: str, depth: int) -> Argument:
        if raw is None or (isinstance(raw, dict) and "value" in raw and raw["value"] is None):
            return NoValue()
        if is_scalar(raw):
            return bind_scalar(raw, at)
        if isinstance(raw, list):
            return self._tuple(name, raw, at, depth)
        if not isinstance(raw, dict):
            message = f"{shown(raw)} is not an argument; write {_KINDS} (strings are constexprs)"
            raise RequestRejected(FieldError(at, message))
        if "tuple" in raw:
            items = read(WrappedTuple, raw, at).items
            return self._tuple(name, items, pointer_below(at, "tuple"), depth)
        if "descriptor" in raw:
            described = read(WrappedDescriptor, raw, at).descriptor
            return self._descriptor(name, described, pointer_below(at, "descriptor"))
        return self._pointer(name, raw, at)

    def _tuple(self, name: str, items: list[Any], at: str, depth: int) -> TupleArgument:
        if depth >= MAX_DEPTH:
            raise RequestRejected(FieldError(at, f"tuples can be nested at most {MAX_DEPTH} deep"))
        bound = [
            self._bind(f"{name}.{index}", item, pointer_below(at, index), depth + 1)
            for index, item in enumerate(items)
        ]
        return TupleArgument(items=bound)

    def _descriptor(self, name: str, raw: Any, at: str) -> Descriptor:
        described = read(DescriptorArgument, raw, at)
        base_at = pointer_below(at, "base")
        base = self._pointer(name, described.base, base_at, DESCRIPTOR_ALIGN_BYTES)
        descriptor = Descriptor(
            base=base, block_shape=described.block_shape, padding=described.padding
        )
        check_descriptor(descriptor, self.allocations[base.allocation], at)
        return descriptor

    def _pointer(self, name: str, raw: Any, at: str, align_bytes: int = 16) -> Buffer:
        if isinstance(raw, dict) and "view" in raw:
            return self._view(name, raw, at)
        index = len(self.allocations)
        before = self._before.buffers.get((name, index, align_bytes))
        if before is not None and before[0] is raw:
            _, allocation, buffer = before
            self.allocations.append(allocation)
            return buffer
        if not isinstance(raw, dict) or not raw.keys() & BufferArgument.model_fields.keys():
            message = f"{shown(raw)} is not an argument; write {_KINDS}"
            raise RequestRejected(FieldError(at, message))
        argument = read(BufferArgument, raw, at)
        allocation, buffer = bind_buffer(name, index, argument, align_bytes, at)
        self._before.buffers[name, index, align_bytes] = (raw, allocation, buffer)
        self.allocations.append(allocation)
        return buffer

    def _view(self, name: str, raw: Any, at: str) -> Buffer:
        before = self._before.views.get(name)
        described = before[1] if before is not None and before[0] is raw else None
        inner_at = pointer_below(at, "view")
        if described is None:
            described = read(ViewArgument, read(WrappedView, raw, at).view, inner_at)
            self._before.views[name] = (raw, described)
        base = self._aliased(described.of, pointer_below(inner_at, "of"))
        return view_of(base, self.allocations[base.allocation], described, inner_at)

    def _aliased(self, of: str, at: str) -> Buffer:
        name, *path = of.split(".")
        if name not in self._raw:
            message = f"there is no argument {shown(of)}.{did_you_mean(name, self._raw)}"
            raise RequestRejected(FieldError(at, message))
        if name not in self.bound and name in self._entered:
            message = f"{shown(of)} is not bound: it has an error, or the views form a cycle"
            raise RequestRejected(FieldError(at, message))
        self._first(name, at)
        viewed: Argument | None = self.bound[name]
        for index in path:
            viewed = _item(viewed, index)
        base = viewed.base if isinstance(viewed, Descriptor) else viewed
        if not isinstance(base, Buffer):
            raise RequestRejected(FieldError(at, f"{shown(of)} is not a buffer that can be viewed"))
        return base

    def _first(self, name: str, at: str) -> None:
        """Bind the base of a view. Raises RequestRejected for a long chain of views."""
        if self._waiting == _MAX_WAITING:
            message = (
                f"more than {_MAX_WAITING} views wait for one another; "
                "write their bases before them"
            )
            raise RequestRejected(FieldError(at, message))
        self._waiting += 1
        try:
            self.named(name)
        finally:
            self._waiting -= 1


def _item(argument: Argument | None, index: str) -> Argument | None:
    if not isinstance(argument, TupleArgument) or not index.isdecimal() or len(index) > 3:
        return None
    return argument.items[int(index)] if int(index) < len(argument.items) else None


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
                raise _refused(name, "a tuple is nested too deeply, or is too long")
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
        raise _refused(name, f"it is not a value of {shown(dtype)}")


def _refused(name: str, why: str) -> RequestRejected:
    return RequestRejected(FieldError(_AT + pointer(name), why))

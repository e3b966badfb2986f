"""Converts the arguments of a launch to those of its kernel's run form."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.diagnostic import Failure
from compiler.json_number import read_number
from compiler.ttir_to_numpy.batched_codegen import BatchedParameter
from compiler.ttir_to_numpy.runtime.launching import dtype_named
from launch.buffers.allocation import leaf_of
from launch.buffers.element_types import Array
from launch.checks.addresses import AddressSpace
from launch.cpu.descriptors import TensorDescriptor
from launch.cpu.pointer import Pointer

_NULL = 0


def arguments_of(
    parameters: Sequence[BatchedParameter],
    paths: Sequence[str],
    bound: dict[str, Any],
    space: AddressSpace,
) -> list[Any]:
    """Return a value for each of the `parameters`: the items of `bound` at `paths`, in order.

    Every buffer gets its addresses in `space`. A host descriptor is followed by its shape and
    strides, unless the kernel has separate parameters for these. Raises `Failure`.
    """
    passed = [(path, _argument(path, bound)) for path in paths]
    is_flat = len(passed) == len(parameters)
    left = iter(parameters)
    values: list[Any] = []
    try:
        for path, argument in passed:
            values += _values(path, argument, left, space, is_flat=is_flat)
    except StopIteration:
        raise _unlike(parameters, paths) from None
    if next(left, None) is not None:
        raise _unlike(parameters, paths)
    return values


def _argument(path: str, bound: dict[str, Any]) -> dict[str, Any]:
    name, *positions = path.split(".")
    argument: dict[str, Any] = bound[name]
    for position in positions:
        argument = argument["items"][int(position)]
    return argument


def _values(
    path: str,
    argument: dict[str, Any],
    left: Iterator[BatchedParameter],
    space: AddressSpace,
    *,
    is_flat: bool,
) -> list[Any]:
    kind = next(left).type
    match argument["kind"]:
        case "buffer":
            return [Pointer(space.place(leaf_of(path, argument)), dtype_named(_element(kind)))]
        case "none":
            return [Pointer(_NULL, dtype_named(_element(kind)))]
        case "descriptor":
            made = _descriptor(path, argument, kind, space)
            extents = [] if is_flat else [*made.shape, *made.strides]
            return [made, *(value.astype(dtype_named(next(left).type)) for value in extents)]
    return [_scalar(argument, kind)]


def _element(kind: str) -> str:
    """Return the element type of a pointer type, constant or not."""
    return kind.removeprefix("*k") if kind.startswith("*k") else kind.removeprefix("*")


def _scalar(argument: dict[str, Any], kind: str) -> Array:
    value = read_number(argument["value"])
    dtype = dtype_named(kind)
    if dtype.kind in "iu":
        bits = np.array([int(value) % (1 << 64)], np.uint64)  # wide first: 2^31 is an i32's bits
        return bits.astype(dtype)
    return np.array([value]).astype(dtype)


def _descriptor(
    path: str, argument: dict[str, Any], kind: str, space: AddressSpace
) -> TensorDescriptor:
    base = leaf_of(path, argument["base"])
    element = kind.removeprefix("tensordesc<").partition("[")[0]
    start = Pointer(space.place(base), dtype_named(element))
    return TensorDescriptor(
        start,
        [np.array([extent], np.int64) for extent in base.shape],
        [np.array([stride], np.int64) for stride in base.strides],
        tuple(argument["block_shape"]),
        nan=argument["padding"] == "nan",
    )


def _unlike(parameters: Sequence[BatchedParameter], paths: Sequence[str]) -> Failure:
    message = (
        f"the kernel's IR takes {len(parameters)} arguments, but the launch passes "
        f"{', '.join(paths) or 'none'}"
    )
    return Failure("invalid_argument", "request", message)

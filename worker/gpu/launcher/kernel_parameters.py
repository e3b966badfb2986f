"""Kernel parameters as bytes, in the order and widths of the kernel's ABI. Pure: knows no CUDA.

Scalars become bytes as Triton's own launcher makes them, so that a kernel gets the same number here
as there: fp16 rounds to nearest even, bf16 drops the low half of the float32. The driver takes an
array of their addresses, each aligned; the last two are those of Triton's scratch memory.
"""

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from compiler.abi import Abi, AbiParameter, TensorMapParameter
from compiler.type_name import SCALAR_BYTES
from worker.gpu.launcher.fault import JobFailed
from worker.gpu.launcher.launcher_order import LauncherOrder

Argument = Mapping[str, Any]
_Slot = AbiParameter | TensorMapParameter
TensorMapOf = Callable[[Argument, int, Mapping[str, Any]], bytes]
"""Makes the 128 bytes of a tensor map: of a descriptor, its base address and its `tensor_map`."""

_FLOATS = {"fp16": "<e", "fp32": "<f", "fp64": "<d"}


@dataclass(frozen=True, slots=True)
class ScratchAddresses:
    """The addresses of the two pointers that Triton appends to every kernel."""

    global_address: int = 0
    profile_address: int = 0


@dataclass(frozen=True, slots=True)
class Packer:
    """Packs parameters from addresses of allocations, scratch, and a maker of tensor maps."""

    addresses: Sequence[int]
    scratch: ScratchAddresses
    tensor_map: TensorMapOf

    def pack(self, abi: Abi, arguments: Mapping[str, Argument]) -> list[bytes]:
        """Return the bytes of every parameter in order.

        Raises JobFailed when arguments and ABI do not fit together.
        """
        packed = []
        for slot in abi.parameters:
            value = self._value(slot, arguments)
            if len(value) != slot.size_bytes:
                message = f"{slot.name} has {len(value)} bytes, not {slot.size_bytes}"
                raise JobFailed("malformed_job", f"{message} as in the kernel's ABI")
            packed.append(value)
        return packed

    def _value(self, slot: _Slot, arguments: Mapping[str, Argument]) -> bytes:
        match slot.kind:
            case "global_scratch":
                return _pointer(self.scratch.global_address)
            case "profile_scratch":
                return _pointer(self.scratch.profile_address)
        argument, rest = _find(slot.name, arguments)
        if argument["kind"] == "descriptor":
            return self._of_descriptor(slot, argument, rest)
        if rest:
            raise JobFailed("malformed_job", f"{slot.name} is not part of an argument")
        match slot.kind, argument["kind"]:
            case "pointer", "none":
                return _pointer(0)
            case "pointer", "buffer":
                return _pointer(self._address(argument))
            case "scalar", "scalar":
                return scalar_bytes(argument["value"], argument["dtype"], slot.name)
        raise JobFailed(
            "malformed_job",
            f"{slot.name} is a {argument['kind']}; the kernel takes a {slot.kind}",
        )

    def _address(self, buffer: Argument) -> int:
        base = self.addresses[buffer["allocation"]]
        return base + int(buffer["offset"]) * item_bytes(buffer["dtype"])

    def _of_descriptor(self, slot: _Slot, argument: Argument, rest: list[str]) -> bytes:
        base = argument["base"]
        match rest:
            case [] if isinstance(slot, TensorMapParameter):
                return self.tensor_map(argument, self._address(base), slot.tensor_map or {})
            case ["base"]:
                return _pointer(self._address(base))
            case ["nan_padding"]:
                return bytes([argument["padding"] == "nan"])
            case ["round_f32_to_tf32"]:
                return b"\0"
            case ["shape" | "wide_shape", axis]:
                number = base["shape"][int(axis)]
                return int(number).to_bytes(slot.size_bytes, "little", signed=True)
            case ["stride" | "wide_stride", axis]:
                number = base["strides"][int(axis)]
                return int(number).to_bytes(slot.size_bytes, "little", signed=True)
        raise JobFailed("malformed_job", f"{slot.name} is not part of a descriptor")


def _find(name: str, arguments: Mapping[str, Argument]) -> tuple[Argument, list[str]]:
    """Return the argument that `pair.0` or `desc.shape.1` is of, and what is left of the name."""
    first, *rest = name.split(".")
    argument = arguments.get(first)
    while argument is not None and argument["kind"] == "tuple" and rest:
        items, index = argument["items"], int(rest.pop(0))
        argument = items[index] if index < len(items) else None
    if argument is None:
        raise JobFailed("malformed_job", f"no argument for the kernel's parameter {name}")
    return argument, rest


def _pointer(address: int) -> bytes:
    return address.to_bytes(8, "little")


def item_bytes(dtype: str) -> int:
    """Return the size of one element of a Triton type. Raises JobFailed."""
    if dtype not in SCALAR_BYTES:
        raise JobFailed("malformed_job", f"{dtype!r} is not an element type")
    return SCALAR_BYTES[dtype]


def scalar_bytes(value: Any, dtype: str, name: str) -> bytes:
    """Return a tagged value as the bytes of a parameter of type `dtype`.

    Raises JobFailed when it does not fit.
    """
    number = _number(value, name)
    try:
        if dtype == "bf16":
            return struct.pack("<f", number)[2:]
        if dtype in _FLOATS:
            return struct.pack(_FLOATS[dtype], number)
        if dtype in {"i1", "u1"}:
            return bytes([bool(number)])
        bits = 8 * item_bytes(dtype)
        return (int(number) % (1 << bits)).to_bytes(bits // 8, "little")
    except (OverflowError, struct.error, ValueError) as error:
        raise JobFailed("malformed_job", f"{name} does not fit in {dtype}: {error}") from error


def _number(value: Any, name: str) -> int | float:
    match value:
        case bool() | int() | float():
            return value
        case {"int": text}:
            return int(text)
        case {"float": str(text)}:
            return float.fromhex(text)
        case {"float": number}:
            return float(number)
    raise JobFailed("malformed_job", f"the value of {name} is not a number: {value!r:.80}")


_ALIGN_BYTES = 128  # of tensor maps; every other parameter needs less


class ParameterBlock:
    """Holds the bytes of all parameters of one kernel for as long as it may be launched."""

    def __init__(self, packed: Sequence[bytes]) -> None:
        size = sum(-(-len(value) // _ALIGN_BYTES) for value in packed) * _ALIGN_BYTES
        self._bytes = ctypes.create_string_buffer(size + _ALIGN_BYTES)
        self._pointers = (ctypes.c_void_p * max(1, len(packed)))()
        address = -(-ctypes.addressof(self._bytes) // _ALIGN_BYTES) * _ALIGN_BYTES
        for index, value in enumerate(packed):
            ctypes.memmove(address, value, len(value))
            self._pointers[index] = address
            address += -(-len(value) // _ALIGN_BYTES) * _ALIGN_BYTES

    @property
    def address(self) -> int:
        """The address of the array of pointers that cuLaunchKernelEx takes."""
        return ctypes.addressof(self._pointers)


Take = Callable[[int, int], int]
"""Returns the address of new memory, of its size and alignment in bytes."""
Fill = Callable[[int, int, int], None]
"""Sets memory: address, size in bytes, and the byte."""
_MIN_ALIGN_BYTES = 16


def scratch_of(job: LauncherOrder, take: Take, fill: Fill) -> ScratchAddresses:
    """Return zeroed scratch for every program of `job`; address 0 where the kernel wants none."""
    addresses = []
    for wanted in (job.abi.global_scratch, job.abi.profile_scratch):
        size_bytes = wanted.size_bytes * prod(job.grid) * job.abi.cluster[0]
        address = 0
        if size_bytes:
            address = take(size_bytes, max(wanted.align_bytes, _MIN_ALIGN_BYTES))
            fill(address, size_bytes, 0)
        addresses.append(address)
    return ScratchAddresses(*addresses)

"""Converts the arguments of a recorded launch to those of a posted one.

Triton's JIT specializes on a tensor's dtype, and on its address being a multiple of 16. Both follow
from the tape: torch aligns memory to 512 bytes, and offsets are recorded.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.constexpr import Value
from compiler.job import CompileJob
from compiler.json_number import tagged_float
from compiler.parameter_binding import BindingFailed
from compiler.problem import Problem
from compiler.specialization import SpecializedParameter
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
from launch.request.element import INTEGER_RANGES, ITEM_BYTES
from launch.request.inference import annotated_type
from launch.request.scalar import dtype_of
from programs.tape.schema import (
    COPIES,
    AtenOp,
    DtypeName,
    KernelArgument,
    LaunchValue,
    LaunchVariant,
    ReinterpretedArgument,
    Tape,
    TapeDescriptor,
    TapeLaunch,
    TensorMeta,
    TensorRef,
)

ALIGNED_BYTES = 512
"""The alignment of torch's CUDA allocator."""


@dataclass(frozen=True, slots=True)
class RecordedArguments:
    """The arguments of a launch: those at run time, and the constants."""

    bound: BoundArguments
    constexprs: Mapping[str, SpecializedParameter]


def launch_arguments(
    tape: Tape, launch: TapeLaunch, constexprs: Mapping[str, LaunchValue]
) -> RecordedArguments:
    """Return the arguments of `launch`, with the `constexprs` of one of its variants.

    Dtypes, strings and functions are always constants, as in Triton. Raises BindingFailed for
    arguments that Triton cannot launch with.
    """
    constants = {name: _constant(name, tape, value) for name, value in constexprs.items()}
    arguments: dict[str, Argument] = {}
    storages: dict[int, int] = {}
    for name, value in launch.args.items():
        if name in constants:
            continue
        if isinstance(value, DtypeName | KernelArgument | str):
            constants[name] = _constant(name, tape, value)
        else:
            arguments[name] = _argument(name, tape, value, storages)
    allocations = [_allocation(tape, storage) for storage in storages]
    bound = BoundArguments(allocations=allocations, arguments=arguments)
    named = {
        name: SpecializedParameter(value=value, is_constexpr=True)
        for name, value in constants.items()
    }
    return RecordedArguments(bound, named)


def _allocation(tape: Tape, storage: int) -> BoundAllocation:
    return BoundAllocation(
        name=str(storage),
        dtype="u8",
        elements=tape.storages[storage],
        align_bytes=ALIGNED_BYTES,
        init=None,
        output=False,
    )


def _argument(name: str, tape: Tape, value: LaunchValue, storages: dict[int, int]) -> Argument:
    match value:
        case None:
            return NoValue()
        case bool() | int() | float():
            tagged = _number(value)
            return Scalar(value=tagged, dtype=dtype_of(tagged))
        case TensorRef():
            tensor = tape.tensors[value.id]
            return _buffer(name, tape, tensor, tensor.dtype, storages)
        case ReinterpretedArgument():
            return _buffer(name, tape, tape.tensors[value.base.id], value.dtype, storages)
        case TapeDescriptor():
            tensor = tape.tensors[value.base.id]
            base = _buffer(name, tape, tensor, tensor.dtype, storages)
            return Descriptor(base=base, block_shape=list(value.block_shape))
        case tuple():
            items: Sequence[LaunchValue] = value
            return TupleArgument(items=[_argument(name, tape, item, storages) for item in items])
    raise _misfit(name, f"is a {type(value).__name__}, which no kernel takes at run time")


def _pinned_storages(tape: Tape) -> Iterator[int]:
    """Yield the storages on the CPU that kernels can access."""
    for op in tape.ops:
        if isinstance(op, AtenOp):
            is_pinned = op.kwargs.get("pin_memory") is True
            if is_pinned or (op.op in COPIES and op.kwargs.get("non_blocking") is True):
                yield from (tape.tensors[id_].storage for id_ in op.outputs if id_ is not None)


def _buffer(
    name: str, tape: Tape, tensor: TensorMeta, dtype: str, storages: dict[int, int]
) -> Buffer:
    if tensor.device != "cuda" and tensor.storage not in _pinned_storages(tape):
        raise _misfit(
            name, "is a tensor on the CPU: a kernel cannot access it, move it to the GPU first"
        )
    if dtype not in ITEM_BYTES or tensor.dtype not in ITEM_BYTES:
        raise _misfit(name, f"is a tensor of {tensor.dtype}, which Triton has no type for")
    offset_bytes = tensor.offset * ITEM_BYTES[tensor.dtype]
    return Buffer(
        allocation=storages.setdefault(tensor.storage, len(storages)),
        shape=list(tensor.shape),
        strides=list(tensor.strides),
        offset=offset_bytes // ITEM_BYTES[dtype],
        dtype=dtype,
        output=False,
    )


def _constant(name: str, tape: Tape, value: LaunchValue) -> Value:
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return _number(value)
        case DtypeName():
            return {"dtype": value.name}
        case KernelArgument():
            return {"function": tape.kernels[value.kernel].name}
        case tuple():
            return {"tuple": [_constant(name, tape, item) for item in value]}
    raise _misfit(name, f"is a constexpr, and its argument a {type(value).__name__}")


def _number(value: bool | float) -> Value:
    if isinstance(value, bool):
        return value
    return {"int": str(value)} if isinstance(value, int) else tagged_float(value)


def _misfit(name: str, why: str) -> BindingFailed:
    return BindingFailed("argument_mismatch", f"the argument of `{name}` {why}", name)


@dataclass(frozen=True, slots=True)
class ReadKernel:
    """A kernel of one source, with options and constants; or the `problem` with any of them."""

    posted: CompileJob | None = None
    name: str = ""
    parameters: Sequence[Mapping[str, Any]] = ()
    problem: Problem | None = None

    @property
    def constexprs(self) -> frozenset[str]:
        """The parameters whose values are compiled in."""
        return frozenset(
            parameter["name"] for parameter in self.parameters if parameter["constexpr"]
        )

    @property
    def ranges(self) -> Mapping[str, range]:
        """The values that fit parameters whose annotation fixes an integer type."""
        kinds = {
            parameter["name"]: annotated_type(parameter["annotation"])
            for parameter in self.parameters
        }
        return {
            name: INTEGER_RANGES[kind] for name, kind in kinds.items() if kind in INTEGER_RANGES
        }


@dataclass(slots=True)
class LaunchSpecializations:
    """The kernels read so far, by `constants_key` of their launches."""

    kernels: dict[bytes, ReadKernel] = field(default_factory=dict)
    _specialized_on: dict[bytes, tuple[frozenset[str], Mapping[str, range]]] = field(
        default_factory=dict
    )

    def key_of(self, tape: Tape, launch: TapeLaunch, variant: LaunchVariant) -> bytes:
        """Return a digest that is equal for launches that share a compilation.

        Triton specializes on an argument's type, on numbers that are 1 or divisible by 16, and on
        addresses that are divisible by 16. Once a kernel was read, its constexprs count, too.
        """
        constants = constants_key(launch, variant)
        read = self.kernels.get(constants)
        if read is None:
            return _digest(
                constants, [(name, _exact(tape, it)) for name, it in launch.args.items()]
            )
        if constants not in self._specialized_on:
            self._specialized_on[constants] = read.constexprs, read.ranges
        constexprs, ranges = self._specialized_on[constants]
        parts = [
            (
                name,
                _exact(tape, it)
                if name in constexprs
                else _specialization(tape, it, ranges.get(name)),
            )
            for name, it in launch.args.items()
        ]
        return _digest(constants, parts)


def constants_key(launch: TapeLaunch, variant: LaunchVariant) -> bytes:
    """Return a digest that is equal for launches that differ only in run-time arguments."""
    constants = [
        (name, value)
        for name, value in launch.args.items()
        if isinstance(value, DtypeName | KernelArgument | str)
    ]
    options = sorted(variant.options.items())
    return _digest(launch.kernel, list(variant.constexprs.items()), constants, options)


def _digest(*parts: object) -> bytes:
    return hashlib.sha256(repr(parts).encode()).digest()


def _exact(tape: Tape, value: LaunchValue) -> object:
    """Return everything that a compiler could look at, with exact numbers."""
    if isinstance(value, tuple):
        return [_exact(tape, item) for item in value]
    return value if isinstance(value, int | float) else _specialization(tape, value)


def _specialization(tape: Tape, value: LaunchValue, taken: range | None = None) -> object:
    """Return the specialization of a run-time argument; `taken` are the values of its type."""
    match value:
        case bool():
            return value
        case int():
            return _type_of(value), value == 1, value % 16 == 0, taken is None or value in taken
        case float():
            return "a float"
        case TensorRef():
            return _memory(tape.tensors[value.id])
        case ReinterpretedArgument():
            return _memory(tape.tensors[value.base.id]), value.dtype
        case TapeDescriptor():
            return _memory(tape.tensors[value.base.id]), value.block_shape
        case tuple():
            return [_specialization(tape, item) for item in value]
    return value


def _type_of(number: int) -> str:
    return next(kind for kind in ("i32", "i64", "u64") if number in INTEGER_RANGES[kind])


def _memory(tensor: TensorMeta) -> object:
    return tensor.device, tensor.dtype, tensor.offset % 16

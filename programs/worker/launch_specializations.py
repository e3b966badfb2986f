"""Finds launches that share a compilation, by the properties that Triton's JIT specializes on.

A tape may launch one kernel a hundred thousand times, each time with another number. Making a
compile job is slow, so all launches with equal specializations share one.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.job import CompileJob
from compiler.problem import Problem
from launch.request.element import INTEGER_RANGES
from launch.request.inference import annotated_type
from programs.tape.schema import (
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
        return frozenset(one["name"] for one in self.parameters if one["constexpr"])

    @property
    def ranges(self) -> Mapping[str, range]:
        """The values that fit parameters whose annotation fixes an integer type."""
        kinds = {one["name"]: annotated_type(one["annotation"]) for one in self.parameters}
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

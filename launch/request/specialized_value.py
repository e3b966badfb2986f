"""The type and hints that Triton's JIT gives one argument by its value.

After python/src/specialize.cc of Triton 3.9.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compiler.specialization import SpecializedParameter, Type, with_suffix
from compiler.target import BACKENDS
from launch.request.bound_arguments import (
    Argument,
    BoundArguments,
    Buffer,
    Descriptor,
    NoValue,
    Scalar,
    TupleArgument,
)
from launch.request.element import BOOLEANS
from launch.request.scalar import integer

DIVISIBLE = frozenset({"divisible_by_16"})
ONE = frozenset({"equal_to_1"})
_RANGE = frozenset({"pointer_range_32"})
MAX_RANGE_BYTES = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Rules:
    """The degree of one parameter's specialization; items of a tuple are always specialized."""

    const: bool = False
    values: bool = True
    alignment: bool = True

    @classmethod
    def of(cls, fact: Mapping[str, Any]) -> "Rules":
        """Return the rules of a parameter, from its facts."""
        return cls(
            const=fact["const"],
            values=not fact["do_not_specialize"],
            alignment=not fact["do_not_specialize_on_alignment"],
        )


def specialized(
    argument: Argument, bound: BoundArguments, backend: str, rules: Rules
) -> SpecializedParameter:
    """Return the JIT's view of one argument of `bound`."""
    match argument:
        case NoValue():
            return SpecializedParameter(is_constexpr=True)
        case Scalar():
            return _scalar(argument, rules)
        case Buffer():
            return _buffer(argument, bound, backend, rules)
        case Descriptor():
            dtype = "u1" if argument.base.dtype in BOOLEANS else argument.base.dtype
            block = ",".join(map(str, argument.block_shape))
            return SpecializedParameter(f"tensordesc<{dtype}[{block}]>")
        case TupleArgument():
            items = [specialized(item, bound, backend, Rules()) for item in argument.items]
            return SpecializedParameter([_leaf(item) for item in items])


def _scalar(scalar: Scalar, rules: Rules) -> SpecializedParameter:
    number = integer(scalar)
    dtype = "u1" if scalar.dtype in BOOLEANS else scalar.dtype
    if number is None or not rules.values:
        return SpecializedParameter(dtype)
    if number == 1:
        return SpecializedParameter(dtype, ONE)
    return SpecializedParameter(
        dtype, DIVISIBLE if rules.alignment and number % 16 == 0 else frozenset()
    )


def _buffer(
    buffer: Buffer, bound: BoundArguments, backend: str, rules: Rules
) -> SpecializedParameter:
    element = "u1" if buffer.dtype in BOOLEANS else buffer.dtype
    hints: frozenset[str] = frozenset()
    if rules.values:
        if rules.alignment and bound.is_divisible_by_16(buffer):
            hints |= DIVISIBLE
        is_small = bound.allocations[buffer.allocation].size_bytes <= MAX_RANGE_BYTES
        if is_small and BACKENDS[backend].has_pointer_ranges:
            hints |= _RANGE
    return SpecializedParameter(("*k" if rules.const else "*") + element, hints)


def _leaf(item: SpecializedParameter) -> Type | None:
    """Return the type of a tuple's item with its hint as a suffix; None for a constant None."""
    if item.is_constexpr:
        return None
    return with_suffix(item.type, item.hints) if isinstance(item.type, str) else item.type

"""Checks arguments against the types, hints and constants that a kernel was compiled with.

Code compiled for a size divisible by 16 is wrong, not slow, for other sizes. The error explains
why the hint is not true for the argument.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from compiler import compilation
from compiler.constexpr import plain_value, pointer_below
from compiler.rejection import FieldError, RequestRejected, listed, pointer, shown
from compiler.specialization import SUFFIX_HINTS, SpecializedParameter
from compiler.type_name import is_pointer
from launch.request.bound_arguments import (
    Argument,
    BoundArguments,
    Buffer,
    Descriptor,
    NoValue,
    Scalar,
    TupleArgument,
)
from launch.request.element import BOOLEANS, INTEGER_RANGES, ITEM_BYTES
from launch.request.inference import MAX_RANGE_BYTES, Rules, specialized
from launch.request.scalar import integer

_Item = TypeVar("_Item")
_ATTRIBUTES = {"divisible_by_16": "tt.divisibility", "pointer_range_32": "tt.pointer_range"}
"""The hints that an argument of IR may have."""


def violation_of_hint(hint: str, argument: Argument, bound: BoundArguments) -> str | None:
    """Return how `argument` breaks `hint`, None if the hint is true."""
    if isinstance(argument, Buffer):
        return _of_pointer(hint, argument, bound)
    if not isinstance(argument, Scalar):
        return None
    number = integer(argument) if not isinstance(argument.value, bool) else int(argument.value)
    if hint == "equal_to_1":
        return None if number == 1 else f"is {shown(plain_value(argument.value))}, not 1"
    if number is not None and number % 16 == 0:
        return None
    return f"is {shown(plain_value(argument.value))}, not a multiple of 16"


def _of_pointer(hint: str, buffer: Buffer, bound: BoundArguments) -> str | None:
    base = bound.allocations[buffer.allocation]
    if hint == "pointer_range_32":
        if base.size_bytes <= MAX_RANGE_BYTES:
            return None
        return (
            f"its buffer has {base.size_bytes} bytes, more than the {MAX_RANGE_BYTES} that a "
            "32-bit range allows"
        )
    if bound.is_divisible_by_16(buffer):
        return None
    offset_bytes = buffer.offset * ITEM_BYTES[buffer.dtype]
    return (
        f"begins {offset_bytes} bytes into memory that is aligned to {base.align_bytes}, so its "
        "address is not a multiple of 16"
    )


class HintViolated(RequestRejected):
    """Every error is an argument that breaks a hint or constant of the compilation."""

    slug = "hint_violated"


@dataclass(frozen=True, slots=True)
class _Broken:
    error: FieldError
    is_hint: bool


def compiled_hints(parameters: Iterable[compilation.Parameter]) -> dict[str, SpecializedParameter]:
    """Return the hints of a finished compilation, by name."""
    return {item.name: _hint_of(item) for item in parameters}


def _hint_of(item: compilation.Parameter) -> SpecializedParameter:
    if item.role == "constexpr":
        return SpecializedParameter(value=item.value, is_constexpr=True)
    return SpecializedParameter(item.type, frozenset(item.hints))


def check_hints(
    named: Mapping[str, SpecializedParameter],
    bound: BoundArguments,
    at: str = "/arguments",
    *,
    complete: bool = True,
    of_ir: bool = False,
) -> None:
    """Check the arguments against a specialization or a compilation (see `compiled_hints`).

    If not `complete`, arguments may be missing, because the source can have defaults for them.
    `of_ir`: posted IR has the hints, as attributes.
    Raises RequestRejected for missing or unknown arguments and for other types, and HintViolated
    if only hints are broken.
    """
    broken = list(_unknown(named, bound, at))
    if complete:
        broken += _missing(named, bound, at)
    for name, argument in bound.arguments.items():
        if name in named:
            remedy = _remedy(name, named[name], of_ir=of_ir)
            broken += _broken(named[name], argument, bound, at + pointer(name), remedy)
    others = [item.error for item in broken if not item.is_hint]
    if others:
        raise RequestRejected(*others)
    if broken:
        raise HintViolated(*(item.error for item in broken))


def _missing(
    named: Mapping[str, SpecializedParameter], bound: BoundArguments, at: str
) -> Iterator[_Broken]:
    for name, parameter in named.items():
        constant = parameter.is_constexpr or "equal_to_1" in parameter.hints
        if not constant and name not in bound.arguments:
            message = f"there is no argument for {shown(name)} of type {parameter.type}"
            yield _Broken(FieldError(at, message), is_hint=False)


def _unknown(
    named: Mapping[str, SpecializedParameter], bound: BoundArguments, at: str
) -> Iterator[_Broken]:
    for name in bound.arguments:
        if name not in named:
            message = (
                f"is not a parameter with a type in the compilation; those are {listed(named)}"
            )
            yield _Broken(FieldError(at + pointer(name), message), is_hint=False)


def _broken(
    parameter: SpecializedParameter,
    argument: Argument,
    bound: BoundArguments,
    at: str,
    remedy: str = "",
) -> Iterator[_Broken]:
    if parameter.is_constexpr:
        value = plain_value(parameter.value)
        if _plain(argument) != value:
            message = f"was compiled as the constant {shown(value)}"
            yield _Broken(FieldError(at, message), is_hint=True)
    elif isinstance(parameter.type, list):
        yield from _broken_items(parameter.type, argument, bound, at)
    elif not _is_of(str(parameter.type), argument, bound):
        message = f"must be of type {parameter.type}"
        yield _Broken(FieldError(at, message), is_hint=False)
    else:
        for hint in sorted(parameter.hints):
            if breach := violation_of_hint(hint, argument, bound):
                message = f"{breach}; this breaks the hint {hint} that the kernel was compiled with"
                message += remedy
                yield _Broken(FieldError(at, message), is_hint=True)


def _remedy(name: str, parameter: SpecializedParameter, *, of_ir: bool) -> str:
    """Return how to get a kernel without the hints of a parameter."""
    again = f"with {name}={parameter.type} in its signature"
    if not of_ir:
        return f": compile it again {again}"
    attributes = [_ATTRIBUTES[hint] for hint in sorted(parameter.hints) if hint in _ATTRIBUTES]
    return (
        f": remove {' and '.join(attributes)} of {name} from the IR, or compile its source again "
        f"{again}"
    )


def _broken_items(
    types: list[Any], argument: Argument, bound: BoundArguments, at: str
) -> Iterator[_Broken]:
    if not isinstance(argument, TupleArgument) or len(argument.items) != len(types):
        message = f"must be a tuple of {len(types)}"
        yield _Broken(FieldError(at, message), is_hint=False)
        return
    for index, (kind, item) in enumerate(zip(types, argument.items, strict=True)):
        yield from _broken(_item(kind), item, bound, pointer_below(at, index))


def _item(kind: Any) -> SpecializedParameter:
    if kind is None:
        return SpecializedParameter(is_constexpr=True)
    if isinstance(kind, dict):
        return SpecializedParameter(value=kind["constexpr"], is_constexpr=True)
    if isinstance(kind, list):
        return SpecializedParameter(kind)
    name, _, suffix = kind.partition(":")
    return SpecializedParameter(name, frozenset({SUFFIX_HINTS[suffix]} if suffix else ()))


def _is_of(kind: str, argument: Argument, bound: BoundArguments) -> bool:
    match argument:
        case Buffer():
            element = kind.removeprefix("*k") if kind.startswith("*k") else kind.removeprefix("*")
            return is_pointer(kind) and _unified(element) == _unified(argument.dtype)
        case Descriptor():
            return specialized(argument, bound, "cuda", Rules()).type == kind
        case NoValue():
            return is_pointer(kind)
        case Scalar():
            return not is_pointer(kind) and _holds(kind, argument)
        case TupleArgument():
            return False


def _unified(dtype: str) -> str:
    return "u1" if dtype in BOOLEANS else dtype


def _holds(kind: str, scalar: Scalar) -> bool:
    if kind not in INTEGER_RANGES or isinstance(scalar.value, bool):
        return not kind.startswith("tensordesc")
    number = integer(scalar)
    return number is not None and number in INTEGER_RANGES[kind]


def _plain(argument: Argument) -> Any:
    match argument:
        case Scalar():
            return plain_value(argument.value)
        case TupleArgument():
            return [_plain(item) for item in argument.items]
        case NoValue():
            return None
    return argument


def names_as_given(names: Sequence[str], passed: Container[str]) -> list[str]:
    """Return the names by which a launch passes the parameters `names`, in their order."""
    positional = [f"arg{position}" for position in range(len(names))]
    return [
        position if name not in passed and position in passed else name
        for name, position in zip(names, positional, strict=True)
    ]


def as_given(by_name: Mapping[str, _Item], passed: Container[str]) -> dict[str, _Item]:
    """Return what is known of the parameters, in their order, by the names that a launch uses."""
    return dict(zip(names_as_given(list(by_name), passed), by_name.values(), strict=True))

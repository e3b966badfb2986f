"""A specialization: which version of a kernel is meant, as data (signature, constexprs, hints).

What is written in a request is brought to one canonical form here, so that equal meanings have
equal keys. The source is not looked at: whether the names fit it is for `binding` to say.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from compiler.rejection import Fault, RequestRejected, pointer
from compiler.types import INTEGERS, UnknownType, canonical_type, is_pointer
from compiler.value import Value, canonical_value, pointer_below

HINTS = ("divisible_by_16", "equal_to_1", "pointer_range_32")
MAX_PARAMETERS = 256
Type = str | list[Any]  # a Triton type name, or a list of them for a tuple

_SUFFIX_HINTS = {"16": "divisible_by_16", "1": "equal_to_1"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """What the request says of one parameter: a type with hints, or a constexpr value."""

    type: Type | None = None
    hints: frozenset[str] = frozenset()
    value: Value = None
    is_constexpr: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the canonical JSON of this parameter."""
        if self.is_constexpr:
            return {"value": self.value}
        return {"type": self.type, "hints": sorted(self.hints)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Parameter":
        """Read back what `to_json` wrote."""
        if "value" in data:
            return cls(value=data["value"], is_constexpr=True)
        return cls(type=data["type"], hints=frozenset(data["hints"]))


@dataclass(frozen=True, slots=True)
class Specialization:
    """Parameters by name, and those written by position only (`triton.tools.compile`'s string)."""

    named: dict[str, Parameter] = field(default_factory=dict)
    positional: tuple[Parameter, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return canonical JSON: the same meaning gives the same bytes once keys are sorted."""
        return {
            "named": {name: self.named[name].to_json() for name in sorted(self.named)},
            "positional": [parameter.to_json() for parameter in self.positional],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Specialization":
        """Read back what `to_json` wrote."""
        return cls(
            {name: Parameter.from_json(value) for name, value in data["named"].items()},
            tuple(Parameter.from_json(value) for value in data["positional"]),
        )


def parse_specialization(
    signature: Any,
    hints: dict[str, list[str]] | None,
    constexprs: dict[str, Any] | None,
) -> Specialization:
    """Bring a request's `signature`, `hints` and `constexprs` to canonical form.

    Raises RequestRejected with every fault found, each with its JSON pointer.
    """
    faults: list[Fault] = []
    named: dict[str, Parameter] = {}
    positional: tuple[Parameter, ...] = ()
    if isinstance(signature, str):
        positional = _parse_positions(signature, faults)
    elif isinstance(signature, dict | None):
        named = _parse_names(signature or {}, faults)
    else:
        message = "must be an object of types by parameter name, or a string of types by position"
        faults.append(Fault("/signature", message))
    _add_hints(named, hints or {}, faults)
    _add_constexprs(named, constexprs or {}, faults)
    if len(named) + len(positional) > MAX_PARAMETERS:
        faults.append(Fault("/signature", f"more than {MAX_PARAMETERS} parameters"))
    if faults:
        raise RequestRejected(*faults)
    return Specialization(named, positional)


def _parse_names(signature: dict[str, Any], faults: list[Fault]) -> dict[str, Parameter]:
    named = {}
    for name, written in signature.items():
        at = pointer("signature", name)
        if not name.isidentifier():
            faults.append(Fault(at, f"{name!r} is not a parameter name"))
        elif written != "constexpr":  # as Triton writes it; the value stands in `constexprs`
            parameter = _collect(faults, _parse_type, written, at)
            if parameter is not None:
                named[name] = parameter
    return named


def _parse_positions(signature: str, faults: list[Fault]) -> tuple[Parameter, ...]:
    parameters = []
    for index, written in enumerate(_split_top_level(signature)):
        value = _number(written)
        if value is not None:
            value = _collect(faults, canonical_value, value, "/signature")
            parameters.append(Parameter(value=value, is_constexpr=True))
            continue
        parameter = _collect(faults, _parse_type, written, "/signature")
        if parameter is None:
            faults[-1] = Fault("/signature", f"position {index}: {faults[-1].message}")
        else:
            parameters.append(parameter)
    return tuple(parameters)


def _split_top_level(signature: str) -> list[str]:
    # commas inside tensordesc<fp16[64,64]> do not separate parameters
    parts = re.split(r",(?![^<]*>)", signature)
    return [part.strip() for part in parts] if signature.strip() else []


def _number(written: str) -> int | float | bool | None:
    if written in {"True", "False"}:
        return written == "True"
    for read in (int, float):
        try:
            return read(written)
        except ValueError:
            continue
    return None


def _parse_type(written: Any, at: str) -> Parameter:
    if isinstance(written, list):
        return Parameter(type=_tuple_type(written, at))
    if not isinstance(written, str):
        raise RequestRejected(Fault(at, "a type is a string such as '*fp32:16', or a list of them"))
    name, _, suffix = written.partition(":")
    try:
        parameter = Parameter(type=canonical_type(name))
    except UnknownType as error:
        raise RequestRejected(Fault(at, str(error))) from None
    if not suffix:
        return parameter
    if suffix.strip() not in _SUFFIX_HINTS:
        message = f"{suffix!r} after ':' is no hint; write :16 (divisible by 16) or :1 (equal to 1)"
        raise RequestRejected(Fault(at, message))
    return _with_hint(parameter, _SUFFIX_HINTS[suffix.strip()], at)


def _tuple_type(items: list[Any], at: str) -> list[Any]:
    types = []
    for index, item in enumerate(items):
        parameter = _parse_type(item, pointer_below(at, index))
        if parameter.hints:
            message = "hints on the items of a tuple are not supported"
            raise RequestRejected(Fault(pointer_below(at, index), message))
        types.append(parameter.type)
    return types


def _with_hint(parameter: Parameter, hint: str, at: str) -> Parameter:
    kind = parameter.type
    fits = {
        "divisible_by_16": isinstance(kind, str) and (is_pointer(kind) or kind in INTEGERS),
        "equal_to_1": isinstance(kind, str) and kind in INTEGERS,
        "pointer_range_32": isinstance(kind, str) and is_pointer(kind),
    }
    if hint not in fits:
        raise RequestRejected(Fault(at, f"{hint!r} is not a hint; there are {', '.join(HINTS)}"))
    if not fits[hint]:
        raise RequestRejected(Fault(at, f"{hint} says nothing about a parameter of type {kind}"))
    hints = parameter.hints | {hint}
    if hints >= {"equal_to_1", "divisible_by_16"}:
        raise RequestRejected(Fault(at, "nothing is equal to 1 and divisible by 16"))
    return Parameter(type=kind, hints=hints)


def _add_hints(
    named: dict[str, Parameter], hints: dict[str, list[str]], faults: list[Fault]
) -> None:
    for name, written in hints.items():
        if name not in named:
            message = f"there is no type for {name!r} in `signature` that a hint could belong to"
            faults.append(Fault(pointer("hints", name), message))
            continue
        for index, hint in enumerate(written):
            at = pointer("hints", name, index)
            named[name] = _collect(faults, _with_hint, named[name], hint, at) or named[name]


def _add_constexprs(
    named: dict[str, Parameter], constexprs: dict[str, Any], faults: list[Fault]
) -> None:
    for name, raw in constexprs.items():
        at = pointer("constexprs", name)
        if not name.isidentifier():
            faults.append(Fault(at, f"{name!r} is not a parameter name"))
        elif name in named:
            message = (
                f"{name!r} has a type in `signature` and a value here; "
                "leave it out of one of them (a constexpr is not passed at launch)"
            )
            faults.append(Fault(at, message))
        else:
            before = len(faults)
            value = _collect(faults, canonical_value, raw, at)
            if len(faults) == before:
                named[name] = Parameter(value=value, is_constexpr=True)


def _collect(faults: list[Fault], parse: Any, *arguments: Any) -> Any:
    try:
        return parse(*arguments)
    except RequestRejected as rejected:
        faults.extend(rejected.faults)
        return None

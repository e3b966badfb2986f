"""A specialization: which version of a kernel is meant, as data (signature, constexprs, hints).

What is written in a request is brought to one canonical form here, so that equal meanings have
equal keys. The source is not looked at: whether the names fit it is for `binding` to say.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from compiler.constexpr import (
    MAX_DEPTH,
    MAX_TUPLE_ITEMS,
    Value,
    canonical_value,
    pointer_below,
    read_constant,
    written_value,
)
from compiler.rejection import Fault, RequestRejected, pointer, shown
from compiler.tuple_type import SUFFIX_HINTS, of_parameters, with_items, with_suffix
from compiler.type_name import INTEGERS, MAX_TYPE_CHARS, UnknownType, canonical_type, is_pointer

HINTS = ("divisible_by_16", "equal_to_1", "pointer_range_32")
MAX_PARAMETERS = 1024
Type = str | list[Any]  # a Triton type name, or a list of them for a tuple (see `tuple_type`)

MOST_FAULTS = 50
"""Of one part of a request; finding what was meant takes its time."""

_MAX_SIGNATURE_CHARS = 1 << 16
_MAX_COMMAS = 4 * MAX_PARAMETERS
# commas inside tensordesc<fp16[64,64]> do not separate; the bound keeps a hostile text linear
_SEPARATOR = re.compile(rf",(?![^<>]{{0,{MAX_TYPE_CHARS}}}>)")


@dataclass(frozen=True, slots=True)
class SpecializedParameter:
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
    def from_json(cls, data: dict[str, Any]) -> "SpecializedParameter":
        """Read back what `to_json` wrote."""
        if "value" in data:
            return cls(value=data["value"], is_constexpr=True)
        return cls(type=data["type"], hints=frozenset(data["hints"]))

    def to_text(self) -> str:
        """Return an entry of `triton.tools.compile`'s string; only for what such a string says."""
        if self.is_constexpr:
            number = written_value(self.value)
            return str(next(iter(number.values())) if isinstance(number, dict) else number)
        suffixes = [f":{suffix}" for suffix, hint in SUFFIX_HINTS.items() if hint in self.hints]
        return "".join([str(self.type), *suffixes])


@dataclass(frozen=True, slots=True)
class Specialization:
    """Parameters by name, and those written by position only (`triton.tools.compile`'s string)."""

    named: dict[str, SpecializedParameter] = field(default_factory=dict)
    positional: tuple[SpecializedParameter, ...] = ()

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
            {name: SpecializedParameter.from_json(value) for name, value in data["named"].items()},
            tuple(SpecializedParameter.from_json(value) for value in data["positional"]),
        )

    def to_request(self) -> dict[str, Any]:
        """Return `signature`, `hints` and `constexprs` that mean the same in a request."""
        typed = {name: item for name, item in self.named.items() if not item.is_constexpr}
        types = {name: item.type for name, item in typed.items()}
        values = {name: item.value for name, item in self.named.items() if item.is_constexpr}
        return {
            "signature": ", ".join(item.to_text() for item in self.positional) or types,
            "hints": {name: sorted(item.hints) for name, item in typed.items() if item.hints},
            "constexprs": {name: written_value(value) for name, value in values.items()},
        }


def parse_specialization(
    signature: Any, hints: dict[str, list[str]] | None, constexprs: dict[str, Any] | None
) -> Specialization:
    """Bring a request's `signature`, `hints` and `constexprs` to canonical form.

    Raises RequestRejected with every fault found, each with its JSON pointer.
    """
    _check_sizes(signature, hints or {}, constexprs or {})
    faults: list[Fault] = []
    named: dict[str, SpecializedParameter] = {}
    positional: tuple[SpecializedParameter, ...] = ()
    if isinstance(signature, str):
        positional = _parse_positions(signature, faults)
    elif isinstance(signature, dict | None):
        signature = with_items(signature or {}, hints or {}, constexprs or {}, faults)
        hints, constexprs = of_parameters(hints or {}), of_parameters(constexprs or {})
        named = _parse_names(signature, faults)
    else:
        message = "must be an object of types by parameter name, or a string of types by position"
        faults.append(Fault("/signature", message))
    _add_hints(named, hints or {}, faults, _misread(signature, named))
    _add_constexprs(named, constexprs or {}, faults)
    if len(named) + len(positional) > MAX_PARAMETERS:
        faults.append(Fault("/signature", f"more than {MAX_PARAMETERS} parameters"))
    if faults:
        raise RequestRejected(*faults)
    return Specialization(named, positional)


def _check_sizes(signature: Any, hints: dict[str, Any], constexprs: dict[str, Any]) -> None:
    """Refuse what is far too large before looking at every item of it."""
    types = signature if isinstance(signature, dict) else {}
    for name, entries in ("signature", types), ("hints", hints), ("constexprs", constexprs):
        if len(entries) > MAX_PARAMETERS:
            raise RequestRejected(Fault(pointer(name), f"more than {MAX_PARAMETERS} parameters"))
    if isinstance(signature, str) and len(signature) > _MAX_SIGNATURE_CHARS:
        message = f"a signature of more than {_MAX_SIGNATURE_CHARS} characters"
        raise RequestRejected(Fault("/signature", message))


def positions(signature: str) -> list[str]:
    """Return the entries of a signature by position. Raises RequestRejected for far too many."""
    if signature.count(",") > _MAX_COMMAS:
        message = f"more than {MAX_PARAMETERS} parameters"
        raise RequestRejected(Fault("/signature", message))
    return _SEPARATOR.split(signature) if signature.strip() else []


def _parse_names(signature: dict[str, Any], faults: list[Fault]) -> dict[str, SpecializedParameter]:
    named = {}
    for name, written in signature.items():
        if len(faults) >= MOST_FAULTS:
            break
        if not name.isidentifier():
            at = pointer("signature", name)
            faults.append(Fault(at, f"{shown(name)} is not a parameter name"))
        elif written != "constexpr":  # as Triton writes it; the value stands in `constexprs`
            is_short = isinstance(written, str) and len(written) <= MAX_TYPE_CHARS
            if not (is_short and (parameter := _usual_type(written))):
                parameter = _collect(faults, _parse_type, written, pointer("signature", name))
            if parameter is not None:
                named[name] = parameter
    return named


@lru_cache(maxsize=1024)
def _usual_type(written: str) -> SpecializedParameter | None:
    """Return what a right type says, and remember it; None for a wrong one."""
    with suppress(RequestRejected):
        return _parse_type(written, "")
    return None


def _parse_positions(signature: str, faults: list[Fault]) -> tuple[SpecializedParameter, ...]:
    parameters = []
    for index, written in enumerate(positions(signature)):
        if len(faults) >= MOST_FAULTS:
            break
        try:
            parameters.append(_parse_position(written.strip()))
        except RequestRejected as rejected:
            messages = [f"position {index}: {fault.message}" for fault in rejected.faults]
            faults.extend(Fault("/signature", message) for message in messages)
    return tuple(parameters)


def _parse_position(written: str) -> SpecializedParameter:
    try:
        value = read_constant(written)
    except ValueError:
        return _parse_type(written, "/signature")
    return SpecializedParameter(value=canonical_value(value, "/signature"), is_constexpr=True)


def _parse_type(written: Any, at: str, depth: int = 0) -> SpecializedParameter:
    if isinstance(written, list):
        return SpecializedParameter(type=_tuple_type(written, at, depth))
    if written == "constexpr" and depth:
        message = 'a constant item needs its value: in `constexprs` by its path, such as "pair.1"'
        raise RequestRejected(Fault(at, message))
    if not isinstance(written, str):
        raise RequestRejected(Fault(at, "a type is a string such as '*fp32:16', or a list of them"))
    name, colon, suffix = written.partition(":")
    try:
        parameter = SpecializedParameter(type=canonical_type(name))
    except UnknownType as error:
        raise RequestRejected(Fault(at, str(error))) from None
    if not colon:
        return parameter
    if suffix.strip() not in SUFFIX_HINTS:
        message = (
            f"{shown(suffix)} after ':' is no hint; write :16 (divisible by 16) or :1 (equal to 1)"
        )
        raise RequestRejected(Fault(at, message))
    return _with_hint(parameter, SUFFIX_HINTS[suffix.strip()], at)


def _tuple_type(items: list[Any], at: str, depth: int) -> list[Any]:
    if len(items) > MAX_TUPLE_ITEMS or depth >= MAX_DEPTH:
        message = f"tuples hold at most {MAX_TUPLE_ITEMS} items and nest {MAX_DEPTH} deep"
        raise RequestRejected(Fault(at, message))
    types: list[Any] = []
    for index, item in enumerate(items):
        if item is None or isinstance(item, dict):
            types.append(_constant_item(item, pointer_below(at, index)))
            continue
        parameter = _parse_type(item, pointer_below(at, index), depth + 1)
        kind = parameter.type
        types.append(with_suffix(kind, parameter.hints) if isinstance(kind, str) else kind)
    return types


def _constant_item(item: Any, at: str) -> Any:
    """Return the canonical form of an item that is a constant: null, or with its value."""
    if item is None:
        return None
    if list(item) != ["constexpr"]:
        message = 'an item is a type, a tuple of them, null, or a constant: {"constexpr": 4}'
        raise RequestRejected(Fault(at, message))
    value = canonical_value(item["constexpr"], pointer_below(at, "constexpr"))
    return None if value is None else {"constexpr": value}


def _with_hint(parameter: SpecializedParameter, hint: str, at: str) -> SpecializedParameter:
    kind = parameter.type
    fits = {
        "divisible_by_16": isinstance(kind, str) and (is_pointer(kind) or kind in INTEGERS),
        "equal_to_1": isinstance(kind, str) and kind in INTEGERS,
        "pointer_range_32": isinstance(kind, str) and is_pointer(kind),
    }
    if hint not in fits:
        message = f"{shown(hint)} is not a hint; there are {', '.join(HINTS)}"
        raise RequestRejected(Fault(at, message))
    if not fits[hint]:
        what = "a tuple" if isinstance(kind, list) else f"a parameter of type {kind}"
        raise RequestRejected(Fault(at, f"{hint} says nothing about {what}"))
    hints = parameter.hints | {hint}
    if hints >= {"equal_to_1", "divisible_by_16"}:
        raise RequestRejected(Fault(at, "nothing is equal to 1 and divisible by 16"))
    return SpecializedParameter(type=kind, hints=hints)


def _misread(signature: Any, named: dict[str, SpecializedParameter]) -> set[str]:
    """Return the parameters whose types were not understood."""
    types = signature if isinstance(signature, dict) else {}
    return {name for name, written in types.items() if name not in named and written != "constexpr"}


def _add_hints(
    named: dict[str, SpecializedParameter],
    hints: dict[str, list[str]],
    faults: list[Fault],
    misread: set[str],
) -> None:
    for name, written in hints.items():
        if name not in named:
            # of a type that was not understood enough is said
            if name not in misread:
                message = f"{shown(name)} has no type in `signature` that a hint could belong to"
                faults.append(Fault(pointer("hints", name), message))
            continue
        for index, hint in enumerate(written):
            at = pointer("hints", name, index)
            named[name] = _collect(faults, _with_hint, named[name], hint, at) or named[name]


def _add_constexprs(
    named: dict[str, SpecializedParameter], constexprs: dict[str, Any], faults: list[Fault]
) -> None:
    for name, raw in constexprs.items():
        at = pointer("constexprs", name)
        if not name.isidentifier():
            faults.append(Fault(at, f"{shown(name)} is not a parameter name"))
        elif name in named:
            message = (
                f"{shown(name)} has a type in `signature` and a value here; "
                "leave it out of one of them (a constexpr is not passed at launch)"
            )
            faults.append(Fault(at, message))
        else:
            value = _collect(faults, canonical_value, raw, at)
            named[name] = SpecializedParameter(value=value, is_constexpr=True)


def _collect(faults: list[Fault], parse: Any, *arguments: Any) -> Any:
    try:
        return parse(*arguments)
    except RequestRejected as rejected:
        faults.extend(rejected.faults)
        return None

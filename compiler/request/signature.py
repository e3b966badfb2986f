"""The signature, hints and constexprs of a request, read into one canonical specialization.

Equal meanings are to have equal keys, whatever spelling a request chose: types by name or by
position, suffixes or hints, items of tuples in their type or by path (`pair.0`, `pair.1.2`). The
source is not looked at: `binding` checks whether the names fit it.
"""

import re
from contextlib import suppress
from functools import lru_cache
from typing import Any

from compiler.constexpr import (
    MAX_DEPTH,
    MAX_TUPLE_ITEMS,
    canonical_value,
    pointer_below,
    read_constant,
)
from compiler.rejection import FieldError, RequestRejected, pointer, shown
from compiler.specialization import (
    SUFFIX_HINTS,
    Specialization,
    SpecializedParameter,
    with_suffix,
)
from compiler.type_name import MAX_TYPE_CHARS, UnknownType, canonical_type

MAX_PARAMETERS = 1024
MAX_ERRORS = 50
"""Limit for one part of a request; finding suggestions takes time."""

_SUFFIXES = {hint: suffix for suffix, hint in SUFFIX_HINTS.items()}
_MAX_SIGNATURE_CHARS = 1 << 16
_MAX_COMMAS = 4 * MAX_PARAMETERS
# commas inside tensordesc<fp16[64,64]> do not separate; the bound keeps a hostile text linear
_SEPARATOR = re.compile(rf",(?![^<>]{{0,{MAX_TYPE_CHARS}}}>)")


def parse_specialization(
    signature: Any, hints: dict[str, list[str]] | None, constexprs: dict[str, Any] | None
) -> Specialization:
    """Bring a request's `signature`, `hints` and `constexprs` to canonical form.

    Raises RequestRejected with every error found, each with its JSON pointer.
    """
    _check_sizes(signature, hints or {}, constexprs or {})
    errors: list[FieldError] = []
    named: dict[str, SpecializedParameter] = {}
    positional: tuple[SpecializedParameter, ...] = ()
    if isinstance(signature, str):
        positional = _parse_positions(signature, errors)
    elif isinstance(signature, dict | None):
        signature = _with_items(signature or {}, hints or {}, constexprs or {}, errors)
        hints, constexprs = _of_parameters(hints or {}), _of_parameters(constexprs or {})
        named = _parse_names(signature, errors)
    else:
        message = "must be an object of types by parameter name, or a string of types by position"
        errors.append(FieldError("/signature", message))
    _add_hints(named, hints or {}, errors, _misread(signature, named))
    _add_constexprs(named, constexprs or {}, errors)
    if len(named) + len(positional) > MAX_PARAMETERS:
        errors.append(FieldError("/signature", f"more than {MAX_PARAMETERS} parameters"))
    if errors:
        raise RequestRejected(*errors)
    return Specialization(named, positional)


def _check_sizes(signature: Any, hints: dict[str, Any], constexprs: dict[str, Any]) -> None:
    """Refuse values that are far too large before looking at every item."""
    types = signature if isinstance(signature, dict) else {}
    for name, entries in ("signature", types), ("hints", hints), ("constexprs", constexprs):
        if len(entries) > MAX_PARAMETERS:
            raise RequestRejected(
                FieldError(pointer(name), f"more than {MAX_PARAMETERS} parameters")
            )
    if isinstance(signature, str) and len(signature) > _MAX_SIGNATURE_CHARS:
        message = f"a signature of more than {_MAX_SIGNATURE_CHARS} characters"
        raise RequestRejected(FieldError("/signature", message))


def positions(signature: str) -> list[str]:
    """Return the entries of a signature by position. Raises RequestRejected for far too many."""
    if signature.count(",") > _MAX_COMMAS:
        message = f"more than {MAX_PARAMETERS} parameters"
        raise RequestRejected(FieldError("/signature", message))
    return _SEPARATOR.split(signature) if signature.strip() else []


def _parse_names(
    signature: dict[str, Any], errors: list[FieldError]
) -> dict[str, SpecializedParameter]:
    named = {}
    for name, written in signature.items():
        if len(errors) >= MAX_ERRORS:
            break
        if not name.isidentifier():
            at = pointer("signature", name)
            errors.append(FieldError(at, f"{shown(name)} is not a parameter name"))
        elif written != "constexpr":  # Triton's spelling; the value is in `constexprs`
            is_short = isinstance(written, str) and len(written) <= MAX_TYPE_CHARS
            if not (is_short and (parameter := _usual_type(written))):
                parameter = _collect(errors, _parse_type, written, pointer("signature", name))
            if parameter is not None:
                named[name] = parameter
    return named


@lru_cache(maxsize=1024)
def _usual_type(written: str) -> SpecializedParameter | None:
    """Return and cache the parsed form of a valid type; None for an invalid one."""
    with suppress(RequestRejected):
        return _parse_type(written, "")
    return None


def _parse_positions(signature: str, errors: list[FieldError]) -> tuple[SpecializedParameter, ...]:
    parameters = []
    for index, written in enumerate(positions(signature)):
        if len(errors) >= MAX_ERRORS:
            break
        try:
            parameters.append(_parse_position(written.strip()))
        except RequestRejected as rejected:
            messages = [f"position {index}: {error.message}" for error in rejected.errors]
            errors.extend(FieldError("/signature", message) for message in messages)
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
        message = 'give the constant\'s value in `constexprs` under its path, such as "pair.1"'
        raise RequestRejected(FieldError(at, message))
    if not isinstance(written, str):
        raise RequestRejected(
            FieldError(at, "a type is a string such as '*fp32:16', or a list of them")
        )
    name, colon, suffix = written.partition(":")
    try:
        parameter = SpecializedParameter(type=canonical_type(name))
    except UnknownType as error:
        raise RequestRejected(FieldError(at, str(error))) from None
    if not colon:
        return parameter
    if suffix.strip() not in SUFFIX_HINTS:
        message = (
            f"{shown(suffix)} after ':' is not a hint; write :16 (divisible by 16) or "
            ":1 (equal to 1)"
        )
        raise RequestRejected(FieldError(at, message))
    return parameter.with_hint(SUFFIX_HINTS[suffix.strip()], at)


def _tuple_type(items: list[Any], at: str, depth: int) -> list[Any]:
    if len(items) > MAX_TUPLE_ITEMS or depth >= MAX_DEPTH:
        message = f"tuples hold at most {MAX_TUPLE_ITEMS} items and nest {MAX_DEPTH} deep"
        raise RequestRejected(FieldError(at, message))
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
        raise RequestRejected(FieldError(at, message))
    value = canonical_value(item["constexpr"], pointer_below(at, "constexpr"))
    return None if value is None else {"constexpr": value}


def _misread(signature: Any, named: dict[str, SpecializedParameter]) -> set[str]:
    """Return the parameters whose types were not understood."""
    types = signature if isinstance(signature, dict) else {}
    return {name for name, written in types.items() if name not in named and written != "constexpr"}


def _add_hints(
    named: dict[str, SpecializedParameter],
    hints: dict[str, list[str]],
    errors: list[FieldError],
    misread: set[str],
) -> None:
    for name, written in hints.items():
        if name not in named:
            # a type that was not understood is already reported
            if name not in misread:
                message = f"{shown(name)} has no type in `signature` that a hint could belong to"
                errors.append(FieldError(pointer("hints", name), message))
            continue
        for index, hint in enumerate(written):
            at = pointer("hints", name, index)
            named[name] = _collect(errors, named[name].with_hint, hint, at) or named[name]


def _add_constexprs(
    named: dict[str, SpecializedParameter], constexprs: dict[str, Any], errors: list[FieldError]
) -> None:
    for name, raw in constexprs.items():
        at = pointer("constexprs", name)
        if not name.isidentifier():
            errors.append(FieldError(at, f"{shown(name)} is not a parameter name"))
        elif name in named:
            message = (
                f"{shown(name)} has a type in `signature` and a value here; "
                "leave it out of one of them (a constexpr is not passed at launch)"
            )
            errors.append(FieldError(at, message))
        else:
            value = _collect(errors, canonical_value, raw, at)
            named[name] = SpecializedParameter(value=value, is_constexpr=True)


def _collect(errors: list[FieldError], parse: Any, *arguments: Any) -> Any:
    try:
        return parse(*arguments)
    except RequestRejected as rejected:
        errors.extend(rejected.errors)
        return None


def _with_items(
    signature: dict[str, Any],
    hints: dict[str, list[str]],
    constexprs: dict[str, Any],
    errors: list[FieldError],
) -> dict[str, Any]:
    """Return `signature` with the hints and constants of items in its tuples.

    What names no item is added to `errors`.
    """
    written = dict(signature)
    for path, value in _of_items(constexprs).items():
        at = pointer("constexprs", path)
        _set_item(written, path, {"constexpr": value}, at, errors)
    for path, names in _of_items(hints).items():
        for index, hint in enumerate(names):
            at = pointer("hints", path, index)
            if hint in _SUFFIXES:
                _set_item(written, path, _SUFFIXES[hint], at, errors)
            else:
                message = f"{shown(hint)} does not apply to a tuple item"
                errors.append(FieldError(at, f"{message}; use one of {', '.join(_SUFFIXES)}"))
    return written


def _of_parameters(entries: dict[str, Any]) -> dict[str, Any]:
    """Return the entries that name parameters, not items."""
    return {name: entry for name, entry in entries.items() if "." not in name}


def _of_items(entries: dict[str, Any]) -> dict[str, Any]:
    return {path: entry for path, entry in entries.items() if "." in path}


def _set_item(
    written: dict[str, Any], path: str, new: Any, at: str, errors: list[FieldError]
) -> None:
    """Replace the item at `path` by a constant, or add a suffix to its type."""
    name, *indices = path.split(".")
    if not all(index.isdecimal() and len(index) < 4 for index in indices):
        errors.append(FieldError(at, f"{shown(path)} is not the path of an item, such as pair.0"))
        return
    changed = _with_item(written.get(name), [int(index) for index in indices], new)
    if changed is None:
        message = f"{shown(path)} names no item of a tuple in `signature`"
        errors.append(FieldError(at, message))
    else:
        written[name] = changed


def _with_item(item: Any, indices: list[int], new: Any) -> Any:
    """Return the tuple with the item at `indices` changed; None where there is no such item."""
    if not indices:
        if isinstance(new, dict):
            return None if isinstance(item, list) else new
        if not isinstance(item, str):
            return None
        return item if item.endswith(f":{new}") else f"{item}:{new}"
    index, *rest = indices
    if not isinstance(item, list) or index >= len(item):
        return None
    changed = _with_item(item[index], rest, new)
    return None if changed is None else [*item[:index], changed, *item[index + 1 :]]

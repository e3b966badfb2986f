"""Constexpr values as JSON: the forms in a request, and the one tagged form used inside.

Inside: null, true, false and strings as they are; {"int": "1024"}, {"float": "0x1.8p+1"},
{"tuple": [...]}, {"dtype": "bf16"}, {"function": "relu"}. Values are data: nothing is evaluated.
"""

import math
import re
from contextlib import suppress
from typing import Any

from compiler.json_number import MAX_EXACT, read_number, tagged_float, written_number
from compiler.rejection import FieldError, RequestRejected, pointer, shown
from compiler.type_name import UnknownType, canonical_dtype

Value = Any  # a JSON value in the tagged form

MAX_STRING_CHARS = 4096
MAX_NUMBER_CHARS = 256
MAX_TUPLE_ITEMS = 256
MAX_DEPTH = 8
# Python accepts more number formats than others do: 1_000, and digits of other scripts
_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT_CHARS = re.compile(r"[+\-.0-9a-zA-Z]+")
INT_RANGE = range(-(2**63), 2**64)


def canonical_value(raw: Any, at: str) -> Value:
    """Return the tagged form of one JSON value found at pointer `at`.

    Raises RequestRejected for a value that no constexpr can have.
    """
    return _canonical(raw, at, depth=0)


def _canonical(raw: Any, at: str, depth: int) -> Value:
    if raw is None or isinstance(raw, bool):
        return raw
    if isinstance(raw, int):
        return _integer(raw, at)
    if isinstance(raw, float):
        return _float(raw, at)
    if isinstance(raw, str):
        if len(raw) > MAX_STRING_CHARS:
            raise RequestRejected(
                FieldError(at, f"a string of more than {MAX_STRING_CHARS} characters")
            )
        return raw
    if isinstance(raw, list):
        return _tuple(raw, at, depth)
    return _tagged(raw, at, depth)


def _tagged(raw: Any, at: str, depth: int) -> Value:
    if not isinstance(raw, dict) or len(raw) != 1:
        raise RequestRejected(FieldError(at, _EXPECTED))
    [(tag, inner)] = raw.items()
    match tag:
        case "int":
            return _integer(_read_int(inner, at), at)
        case "float":
            return tagged_float(_read_float(inner, at))
        case "tuple" if isinstance(inner, list):
            return _tuple(inner, pointer_below(at, "tuple"), depth)
        case "dtype" if isinstance(inner, str):
            try:
                return {"dtype": canonical_dtype(inner)}
            except UnknownType as error:
                raise RequestRejected(FieldError(pointer_below(at, "dtype"), str(error))) from None
        case "function" if isinstance(inner, str) and inner.isidentifier():
            return {"function": inner}
    raise RequestRejected(FieldError(at, _EXPECTED))


_EXPECTED = (
    "not a constexpr value. Write a number, a string, true, false, null, a list (a tuple), or one "
    'of {"int": "9223372036854775807"}, {"float": "-inf"}, {"dtype": "bf16"}, {"function": "relu"}.'
)


def _tuple(items: list[Any], at: str, depth: int) -> Value:
    if len(items) > MAX_TUPLE_ITEMS or depth >= MAX_DEPTH:
        message = f"tuples hold at most {MAX_TUPLE_ITEMS} items and nest {MAX_DEPTH} deep"
        raise RequestRejected(FieldError(at, message))
    return {"tuple": [_canonical(v, pointer_below(at, i), depth + 1) for i, v in enumerate(items)]}


def _integer(number: int, at: str) -> Value:
    if number not in INT_RANGE:
        raise RequestRejected(FieldError(at, f"{shown(number)} does not fit in 64 bits"))
    return {"int": str(number)}


def _float(number: float, at: str) -> Value:
    if not math.isfinite(number):  # JSON has no such number: it was written too large
        message = 'a number that is too large for a float; infinity is written {"float": "inf"}'
        raise RequestRejected(FieldError(at, message))
    return tagged_float(number)


def _read_int(inner: Any, at: str) -> int:
    if isinstance(inner, int) and not isinstance(inner, bool):
        return inner
    if isinstance(inner, str) and len(inner) <= 24 and _INTEGER.fullmatch(inner):
        return int(inner)
    raise RequestRejected(FieldError(pointer_below(at, "int"), f"{shown(inner)} is not an integer"))


def _read_float(inner: Any, at: str) -> float:
    if isinstance(inner, int | float) and not isinstance(inner, bool):
        with suppress(OverflowError):  # reported below, with the place
            return float(inner)
    if isinstance(inner, str) and len(inner) <= 64 and _FLOAT_CHARS.fullmatch(inner):
        with suppress(ValueError, OverflowError):  # reported below, with the place
            number = float.fromhex(inner) if "0x" in inner else float(inner)
            if math.isinf(number) and any(digit in inner for digit in "0123456789"):
                message = f'{shown(inner)} is too large for a float; infinity is written "inf"'
                raise RequestRejected(FieldError(pointer_below(at, "float"), message))
            return number
    message = f'{shown(inner)} is not a float; write a number, "inf", "-inf" or "nan"'
    raise RequestRejected(FieldError(pointer_below(at, "float"), message))


def read_constant(written: str) -> Any:
    """Return the JSON value of a constant in `triton.tools.compile`'s string.

    Raises ValueError for invalid values.
    """
    if written in _CONSTANTS:
        return _CONSTANTS[written]
    if len(written) > MAX_NUMBER_CHARS:
        raise ValueError(written)
    with suppress(ValueError):  # it may be a float
        return int(written)
    number = float(written)
    return number if math.isfinite(number) else {"float": written}


_CONSTANTS = {"True": True, "False": False, "None": None}


def plain_value(value: Value) -> Any:
    """Return a tagged value as answers show it: numbers by the rule of `json_number`."""
    if not isinstance(value, dict):
        return value
    [(tag, inner)] = value.items()
    match tag:
        case "int" | "float":
            return written_number(read_number(value))
        case "tuple":
            return [plain_value(item) for item in inner]
    return value


def written_value(value: Value) -> Any:
    """Return a tagged value as a request may write it: `canonical_value` reads it back the same."""
    if not isinstance(value, dict):
        return value
    [(tag, inner)] = value.items()
    match tag:
        case "int" if abs(int(inner)) <= MAX_EXACT:
            return int(inner)
        case "float" if math.isfinite(number := float.fromhex(inner)):
            return number
        case "tuple":
            return [written_value(item) for item in inner]
    return value


def function_names(data: Any) -> list[str]:
    """Return the names in all {"function": ...} values inside `data`, sorted."""
    if isinstance(data, list):
        return sorted({name for item in data for name in function_names(item)})
    if not isinstance(data, dict):
        return []
    # a parameter may be called "function" too, but its value is not a name
    if len(data) == 1 and isinstance(data.get("function"), str):
        return [data["function"]]
    return sorted({name for item in data.values() for name in function_names(item)})


def pointer_below(at: str, part: str | int) -> str:
    """Extend the JSON pointer `at` by one part."""
    return at + pointer(part)

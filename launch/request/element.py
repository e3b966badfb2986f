"""Elements of buffers: sizes in bytes, ranges, and the JSON forms of one and of many.

Storage is as in PyTorch: a boolean takes a byte.
"""

import itertools
import math
import re
from collections.abc import Iterator
from typing import Any

from compiler.json_number import NON_FINITE, written_number
from compiler.rejection import FieldError, RequestRejected, pointer, shown
from compiler.type_name import SCALAR_BYTES

MAX_VALUES = 65_536


def bind_values(values: Any, shape: list[int], dtype: str, at: str) -> list[Any]:
    """Return the values in C order, flat.

    Raises RequestRejected if a list does not match the shape, or a value does not fit the dtype.
    """
    if math.prod(shape) > MAX_VALUES:
        message = f"more than {MAX_VALUES} values; upload them with PUT /v1/tensors/{{digest}}"
        raise RequestRejected(FieldError(at, message))
    elements = _bound_at_once(values, shape, dtype)
    if elements is None:
        leaves = _leaves(values, shape, at)
        elements = [element_json(read_element(item, dtype, where)) for where, item in leaves]
    return elements


def _bound_at_once(values: Any, shape: list[int], dtype: str) -> list[Any] | None:
    """Return the values, flat, if all of them fit, and None if one does not or is unusual.

    A request may list a quarter of a million. Built-in functions go through all of them within
    milliseconds; where one does not fit, `_leaves` names its place.
    """
    level = [values]
    for size in shape:
        if not all(type(item) is list and len(item) == size for item in level):
            return None
        level = list(itertools.chain.from_iterable(level))
    kinds = set(map(type, level))
    texts = [item for item in level if type(item) is str] if str in kinds else []
    return (
        _floats(level, kinds, texts)
        if is_floating(dtype)
        else _integers(level, kinds, texts, dtype)
    )


def _floats(level: list[Any], kinds: set[type], texts: list[str]) -> list[Any] | None:
    if not kinds <= {int, float, str} or not NON_FINITE.keys() >= set(texts):
        return None
    numbers = [item for item in level if type(item) is not str] if texts else level
    try:
        if not all(map(math.isfinite, numbers)):
            return None
    except OverflowError:  # an integer beyond all floats
        return None
    if not texts:
        return list(map(float, level))
    return [item if type(item) is str else float(item) for item in level]


def _integers(level: list[Any], kinds: set[type], texts: list[str], dtype: str) -> list[int] | None:
    may_be = {int, str, bool} if dtype in BOOLEANS else {int, str}
    if not level or not kinds <= may_be or not _are_integers(texts):
        return None
    integers, span = list(map(int, level)), INTEGER_RANGES[dtype]
    return integers if span.start <= min(integers) and max(integers) < span.stop else None


def _are_integers(texts: list[str]) -> bool:
    lines = "\n".join(texts)
    is_one_each = lines.count("\n") == len(texts) - 1
    return not texts or (is_one_each and _INTEGERS.fullmatch(lines) is not None)


def _leaves(values: Any, shape: list[int], at: str) -> Iterator[tuple[str, Any]]:
    if not shape:
        yield at, values
        return
    if not isinstance(values, list) or len(values) != shape[0]:
        raise RequestRejected(FieldError(at, f"must be a list of {shape[0]}, as in the shape"))
    for index, item in enumerate(values):
        yield from _leaves(item, shape[1:], at + pointer(index))


Number = int | float

BOOLEANS = frozenset({"i1", "u1"})
# fp8e4b15 is missing: only Triton has this type, so no host can create or read such elements
ITEM_BYTES = {name: size for name, size in SCALAR_BYTES.items() if name != "fp8e4b15"}
INTEGER_RANGES = {
    "i1": range(2),
    "u1": range(2),
    **{f"i{bits}": range(-(2 ** (bits - 1)), 2 ** (bits - 1)) for bits in (8, 16, 32, 64)},
    **{f"u{bits}": range(2**bits) for bits in (8, 16, 32, 64)},
}
_MAX_DIGITS = 24
_INTEGER = rf"-?[0-9]{{1,{_MAX_DIGITS - 1}}}"
_INTEGERS = re.compile(rf"{_INTEGER}(?:\n{_INTEGER})*")
"""Integers in lines. A longer one, or one of other digits, is read by itself."""
ELEMENT_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"title": "Number", "type": "number"},
        {"title": "Truth", "type": "boolean"},
        {"title": "NonFinite", "type": "string", "enum": list(NON_FINITE)},
        {
            "title": "LargeInteger",
            "type": "string",
            "pattern": f"^-?[0-9]{{1,{_MAX_DIGITS}}}$",
        },
    ]
}
"""JSON forms of one element in a request; the dtype decides which are valid."""
VALUES_SCHEMA: dict[str, Any] = {
    "anyOf": [*ELEMENT_SCHEMA["anyOf"], {"title": "NestedValues", "type": "array", "items": {}}]
}
"""JSON form of elements as nested lists."""


def is_floating(dtype: str) -> bool:
    """Return True if a canonical dtype is a floating-point one."""
    return dtype not in INTEGER_RANGES


def read_element(raw: Any, dtype: str, at: str) -> Number:
    """Return the JSON value `raw` as an element of `dtype`: an int, or a float that may be NaN.

    Floats are not rounded to `dtype` here. Raises RequestRejected for a value of another kind.
    """
    number = _float(raw) if is_floating(dtype) else _integer(raw, dtype)
    if number is None:
        raise RequestRejected(
            FieldError(at, f"{shown(raw)} is not a valid {dtype}; {_expected(dtype)}")
        )
    return number


def _integer(raw: Any, dtype: str) -> int | None:
    if isinstance(raw, str) and len(raw) <= _MAX_DIGITS and raw.removeprefix("-").isdecimal():
        raw = int(raw)
    if isinstance(raw, bool):
        return int(raw) if dtype in BOOLEANS else None
    return raw if isinstance(raw, int) and raw in INTEGER_RANGES[dtype] else None


def _float(raw: Any) -> float | None:
    if isinstance(raw, str):
        return NON_FINITE.get(raw)
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    try:
        number = float(raw)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None  # JSON has no such number


def _expected(dtype: str) -> str:
    if is_floating(dtype):
        return 'write a number, "NaN", "Infinity" or "-Infinity"'
    span = INTEGER_RANGES[dtype]
    return f"write an integer from {span.start} to {span.stop - 1}"


def element_json(number: Number) -> Number | str:
    """Return an element as JSON: non-finite ones by name."""
    return number if isinstance(number, int) else written_number(number)

"""The arguments of a launch, written from Python values; the arrays among them are collected."""

import math
from collections.abc import Mapping
from typing import Any

from tritonc.request import JSON_SAFE_INTEGER, constexpr_json
from tritonc.upload import Upload, array, is_array


def arguments_json(arguments: Any, uploads: dict[str, Upload]) -> Any:
    """Return the JSON of arguments by name or by position; their arrays are added to `uploads`.

    Raises TypeError or ValueError that names the argument which JSON cannot say.
    """
    if isinstance(arguments, Mapping):
        return {name: _argument(name, value, uploads) for name, value in arguments.items()}
    return [_argument(index, value, uploads) for index, value in enumerate(arguments)]


def _argument(name: Any, value: Any, uploads: dict[str, Upload]) -> Any:
    try:
        return _described(value, uploads)
    except (TypeError, ValueError) as error:
        raise type(error)(f"argument {name!r}: {error}") from None


def _described(value: Any, uploads: dict[str, Upload]) -> Any:
    """Return the JSON of an argument; the arrays in it are collected in `uploads`."""
    if is_array(value):
        value = array(value)
    match value:
        case Upload():
            uploads[value.digest] = value
            return value.described()
        case Mapping():
            return {name: _member(member, uploads) for name, member in value.items()}
        case tuple() | list():
            return {"tuple": [_described(item, uploads) for item in value]}
    return constexpr_json(_number(value))


def _member(value: Any, uploads: dict[str, Upload]) -> Any:
    """Return the JSON of what stands inside of an argument that is described."""
    if is_array(value) or isinstance(value, Upload | Mapping):
        return _described(value, uploads)
    match _number(value):
        case list() | tuple() as items:
            return [_member(item, uploads) for item in items]
        case bool() | str() | None as plain:
            return plain
        case int() as number:
            return number if abs(number) <= JSON_SAFE_INTEGER else str(number)
        case float() as number:
            spelt = "NaN" if math.isnan(number) else f"{'-' if number < 0 else ''}Infinity"
            return number if math.isfinite(number) else spelt
    raise TypeError(f"{value!r} is a {type(value).__name__}, which JSON cannot say")


def _number(value: Any) -> Any:
    """Return a number of NumPy's as one of Python's, and anything else as it is."""
    is_foreign = hasattr(value, "item") and hasattr(value, "dtype")
    return value.item() if is_foreign else value

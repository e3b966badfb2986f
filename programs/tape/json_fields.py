"""Reads fields of hostile JSON: each has exactly one type, or is refused with its place.

This knows nothing of tapes. Every function takes a parsed value and its JSON pointer, and raises
InvalidTape.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from programs.tape.schema import (
    MAX_INT,
    MAX_JSON_LISTS,
    MAX_JSON_OBJECTS,
    MAX_JSON_VALUES,
    MAX_NAME_CHARS,
    MAX_TAPE_BYTES,
    MAX_TEXT_CHARS,
    MIN_INT,
    InvalidTape,
)

_SHOWN_CHARS = 60


def parsed(raw: bytes) -> Any:
    """Return the JSON in `raw`. Raises `InvalidTape` if it is too large, or not strict JSON."""
    if len(raw) > MAX_TAPE_BYTES:
        raise InvalidTape("", f"it takes {len(raw)} bytes; at most {MAX_TAPE_BYTES} are read")
    objects, lists = raw.count(b"{"), raw.count(b"[")
    for count, most, what in (
        (objects, MAX_JSON_OBJECTS, "objects"),
        (lists, MAX_JSON_LISTS, "lists"),
        (raw.count(b",") + objects + lists, MAX_JSON_VALUES, "values"),
    ):
        if count > most:
            raise InvalidTape("", f"it holds about {count} {what}; at most {most} are read")
    try:
        text = raw.decode("utf-8")
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_constant)
    except InvalidTape:
        raise
    except RecursionError:
        raise InvalidTape("", "its JSON is nested too deeply") from None
    except ValueError as error:
        raise InvalidTape("", f"it is not JSON: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        left = dict(members)
        twice = next(name for name, _ in pairs if left.pop(name, pairs) is pairs)
        raise InvalidTape("", f"an object has the key {shown(twice)} twice")
    return members


def _constant(name: str) -> NoReturn:
    raise InvalidTape("", f"{name} is not JSON")


def shown(value: Any) -> str:
    """Return a parsed value for a message, clipped before it is formatted."""
    if isinstance(value, str):
        text = ascii(value[:_SHOWN_CHARS])
    elif isinstance(value, (dict, list)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    elif isinstance(value, int) and value.bit_length() > MAX_INT.bit_length():
        return f"an integer of {value.bit_length()} bits"
    else:
        text = json.dumps(value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 3] + "..."


def a_dict(value: Any, where: str, most: int) -> dict[str, Any]:
    """Return `value`, an object of at most `most` entries."""
    if not isinstance(value, dict):
        raise InvalidTape(where, f"{shown(value)} is not an object")
    if len(value) > most:
        raise InvalidTape(where, f"it has {len(value)} entries; at most {most} are read")
    return value


def record(
    value: Any, where: str, fields: Collection[str], optional: Collection[str] = ()
) -> Mapping[str, Any]:
    """Return `value`, an object with all of `fields` and nothing beyond these and `optional`."""
    members = a_dict(value, where, len(fields) + len(optional))
    for name in fields:
        if name not in members:
            raise InvalidTape(where, f"it has no {name!r}")
    for name in members:
        if name not in fields and name not in optional:
            raise InvalidTape(where, f"{shown(name)} is not a field here")
    return members


def a_list(value: Any, where: str, most: int) -> list[Any]:
    """Return `value`, a list of at most `most` items."""
    if not isinstance(value, list):
        raise InvalidTape(where, f"{shown(value)} is not a list")
    if len(value) > most:
        raise InvalidTape(where, f"it has {len(value)} items; at most {most} are read")
    return value


def integer(value: Any, where: str, least: int = MIN_INT, most: int = MAX_INT) -> int:
    """Return `value`, an integer within these bounds. true and false are refused."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidTape(where, f"{shown(value)} is not an integer")
    if not least <= value <= most:
        raise InvalidTape(where, f"{shown(value)} is not from {least} to {most}")
    return value


def integers(value: Any, where: str, most_items: int, least: int, most: int) -> tuple[int, ...]:
    """Return `value`, a list of integers within these bounds."""
    items = a_list(value, where, most_items)
    return tuple(
        [integer(item, f"{where}/{index}", least, most) for index, item in enumerate(items)]
    )


def boolean(value: Any, where: str) -> bool:
    """Return `value`, true or false."""
    if not isinstance(value, bool):
        raise InvalidTape(where, f"{shown(value)} is neither true nor false")
    return value


def text(value: Any, where: str, most: int = MAX_TEXT_CHARS) -> str:
    """Return `value`, a text of at most `most` characters, valid in UTF-8 and without NUL."""
    if not isinstance(value, str):
        raise InvalidTape(where, f"{shown(value)} is not a string")
    if len(value) > most:
        raise InvalidTape(where, f"it has {len(value)} characters; at most {most} are read")
    if not value.isascii() and not _is_writable(value):
        raise InvalidTape(where, f"{shown(value)} holds half of a surrogate pair")
    if "\0" in value:
        raise InvalidTape(where, f"{shown(value)} holds a NUL")
    return value


def _is_writable(value: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in value)


def name(value: Any, where: str) -> str:
    """Return `value`, a printable, non-empty text of at most `MAX_NAME_CHARS` characters."""
    text_ = text(value, where, MAX_NAME_CHARS)
    if not text_ or not text_.isprintable():
        raise InvalidTape(where, f"{shown(value)} is not a name")
    return text_


def one_of(value: Any, where: str, known: Collection[str], what: str) -> str:
    """Return `value`, one of `known`; `what` names these in the error message."""
    if not isinstance(value, str) or value not in known:
        raise InvalidTape(where, f"{shown(value)} is not a known {what}")
    return value

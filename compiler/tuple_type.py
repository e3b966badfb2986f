"""Types of tuples: their items carry hints as suffixes; constants stand there with their values.

`["*fp32:16", "i32:1", null, {"constexpr": {"int": "4"}}]` is one; taken apart here into what Triton
is given.
"""

from collections.abc import Iterator
from typing import Any

from compiler.value import Value

SUFFIX_HINTS = {"16": "divisible_by_16", "1": "equal_to_1"}
_ONE: Value = {"int": "1"}


def with_suffix(kind: str, hints: frozenset[str]) -> str:
    """Return a type as an item of a tuple says it: with the suffix of its hint."""
    return ":".join([kind, *(suffix for suffix, hint in SUFFIX_HINTS.items() if hint in hints)])


def plain_type(kind: Any) -> Any:
    """Return a type without suffixes, `constexpr` for the items that are constants."""
    if isinstance(kind, list):
        return [plain_type(item) for item in kind]
    if not isinstance(kind, str) or kind.endswith(":1"):
        return "constexpr"
    return kind.partition(":")[0]


def item_hints(name: str, kind: Any) -> dict[str, list[str]]:
    """Return the hints of the items of the tuple parameter `name`, by path as in `pair.0`."""
    return {
        path: ["divisible_by_16"]
        for path, item in _items(name, kind)
        if isinstance(item, str) and item.endswith(":16")
    }


def item_constants(name: str, kind: Any) -> dict[str, Value]:
    """Return the values of the items that are constants, by path."""
    values: dict[str, Value] = {}
    for path, item in _items(name, kind):
        if not isinstance(item, str):
            values[path] = item and item["constexpr"]
        elif item.endswith(":1"):
            values[path] = _ONE
    return values


def _items(name: str, kind: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(kind, list):
        return
    for index, item in enumerate(kind):
        path = f"{name}.{index}"
        if isinstance(item, list):
            yield from _items(path, item)
        else:
            yield path, item

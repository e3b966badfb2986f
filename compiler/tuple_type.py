"""Hints and constants of the items of tuples, which a request names by path: `pair.0`, `pair.1.2`.

They are written into the tuple's type, where the canonical form keeps them (see `tuple_type`).

Types of tuples: their items carry hints as suffixes; constants stand there with their values.

`["*fp32:16", "i32:1", null, {"constexpr": {"int": "4"}}]` is one; taken apart here into what Triton
is given.
"""

from collections.abc import Iterator
from typing import Any

from compiler.constexpr import Value
from compiler.rejection import Fault, pointer, shown

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


_SUFFIXES = {hint: suffix for suffix, hint in SUFFIX_HINTS.items()}


def with_items(
    signature: dict[str, Any],
    hints: dict[str, list[str]],
    constexprs: dict[str, Any],
    faults: list[Fault],
) -> dict[str, Any]:
    """Return `signature` with the hints and constants of items in its tuples.

    What names no item is added to `faults`.
    """
    written = dict(signature)
    for path, value in _of_items(constexprs).items():
        at = pointer("constexprs", path)
        _place(written, path, {"constexpr": value}, at, faults)
    for path, names in _of_items(hints).items():
        for index, hint in enumerate(names):
            at = pointer("hints", path, index)
            if hint in _SUFFIXES:
                _place(written, path, _SUFFIXES[hint], at, faults)
            else:
                message = f"{shown(hint)} cannot be said of an item of a tuple"
                faults.append(Fault(at, f"{message}; there are {', '.join(_SUFFIXES)}"))
    return written


def of_parameters(entries: dict[str, Any]) -> dict[str, Any]:
    """Return the entries that name parameters, not items."""
    return {name: entry for name, entry in entries.items() if "." not in name}


def _of_items(entries: dict[str, Any]) -> dict[str, Any]:
    return {path: entry for path, entry in entries.items() if "." in path}


def _place(written: dict[str, Any], path: str, said: Any, at: str, faults: list[Fault]) -> None:
    """Replace the item at `path` by a constant, or add a suffix to its type."""
    name, *indices = path.split(".")
    if not all(index.isdecimal() and len(index) < 4 for index in indices):
        faults.append(Fault(at, f"{shown(path)} is not the path of an item, such as pair.0"))
        return
    changed = _changed(written.get(name), [int(index) for index in indices], said)
    if changed is None:
        message = f"{shown(path)} names no item of a tuple in `signature`"
        faults.append(Fault(at, message))
    else:
        written[name] = changed


def _changed(item: Any, indices: list[int], said: Any) -> Any:
    if not indices:
        if isinstance(said, dict):
            return None if isinstance(item, list) else said
        if not isinstance(item, str):
            return None
        return item if item.endswith(f":{said}") else f"{item}:{said}"
    index, *rest = indices
    if not isinstance(item, list) or index >= len(item):
        return None
    changed = _changed(item[index], rest, said)
    return None if changed is None else [*item[:index], changed, *item[index + 1 :]]

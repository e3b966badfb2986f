"""Axes of a space as a request writes them: a name, and the values that it takes.

A value that is long (a source, arguments) goes by a label. Whether a kernel has the parameter that
an axis names is found out by its compilations.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from compiler.rejection import FieldError, RequestRejected, did_you_mean, pointer, shown
from compiler.target import canonical_target
from sweeps.variant import Kind

PLURALS: Final = {"targets": "target", "tritons": "triton", "sources": "source", "grids": "grid"}
GROUPS: Final = ("constexprs", "options")
"""Axes of these are their members: `constexprs.BLOCK_SIZE`."""
ARGUMENTS: Final = "arguments"
NAMES: Final = {
    "compilations": (*GROUPS, "target", "triton", "source"),
    "launches": (*GROUPS, "target", "triton", "source", ARGUMENTS, "grid"),
}
MAX_AXES: Final = 64
MAX_NAME_CHARS: Final = 256
MAX_VALUE_BYTES: Final = 1024
MAX_LABEL_CHARS: Final = 128
MAX_LABELS: Final = 200
_LOWEST, _MAX_VALUE = -(2**63), 2**64 - 1
"""The integers that a table can show."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: `values` as the table shows them; `contents`, where that is more than the value.

    `at` is its pointer, `keys` what is appended to it for each value.
    """

    name: str
    at: str
    values: tuple[Any, ...]
    keys: tuple[str | int, ...]
    contents: tuple[Any, ...] | None = None

    def content(self, index: int) -> Any:
        """Return what the value at `index` puts into the request."""
        return (self.values if self.contents is None else self.contents)[index]

    def pointer_of(self, index: int) -> str:
        """Return where the request has the value at `index`."""
        return self.at + pointer(self.keys[index])


def read_axes(written: Mapping[str, Any], at: str, kind: Kind) -> Iterator[Axis]:
    """Yield the axes of an object from names to values. Raises RequestRejected."""
    for name, values in written.items():
        own_at = at + pointer(name)
        group, _, member = PLURALS.get(name, name).partition(".")
        _check_name(name, group, member, own_at, kind)
        if group in GROUPS and not member:
            yield from _members(group, values, own_at)
        elif group in GROUPS or member:
            yield _listed(f"{group}.{member}", values, own_at)
        elif group in ("source", ARGUMENTS):
            yield _labelled(group, values, own_at)
        elif group == "grid":
            yield _grids(values, own_at)
        else:
            yield _named(group, values, own_at)


def _check_name(name: str, group: str, member: str, at: str, kind: Kind) -> None:
    known = NAMES[kind]
    if len(name) > MAX_NAME_CHARS:
        raise RequestRejected(FieldError(at, f"a name longer than {MAX_NAME_CHARS} characters"))
    if group in known and (not member or group in (*GROUPS, ARGUMENTS)):
        if name.endswith("."):
            raise RequestRejected(FieldError(at, f"names no member after the dot: {group}.NAME"))
        return
    if group in NAMES["launches"] and (not member or group == ARGUMENTS):
        message = "a compilation has no such axis; sweep it over a launch (`base` with `grid`)"
        raise RequestRejected(FieldError(at, message))
    meant = f" Did you mean `constexprs.{name}` or `options.{name}`?" if name.isidentifier() else ""
    meant = did_you_mean(group, known) or meant
    message = (
        f"unknown axis.{meant} There are constexprs.NAME, options.NAME, target, triton, source"
    )
    more = ", arguments (by label), arguments.NAME and grid" if kind == "launches" else ""
    raise RequestRejected(FieldError(at, message + more))


def _members(group: str, written: Any, at: str) -> Iterator[Axis]:
    if not isinstance(written, dict) or not written:
        message = 'must be an object from names to lists of values, such as {"NAME": [1, 2]}'
        raise RequestRejected(FieldError(at, message))
    for name, values in written.items():
        yield _listed(f"{group}.{name}", values, at + pointer(name))


def _listed(name: str, values: Any, at: str) -> Axis:
    listed = _list(values, at)
    for index, value in enumerate(listed):
        check_value(value, f"{at}/{index}")
    return _axis(name, at, listed)


def check_value(value: Any, at: str) -> None:
    """Refuse a value that a table cannot show. Raises RequestRejected."""
    if type(value) is int and _LOWEST <= value <= _MAX_VALUE:
        return
    try:
        size_bytes = len(orjson.dumps(value))
    except TypeError:  # all else that JSON has it can write
        message = 'an integer beyond 64 bits, which a table cannot show; write {"int": "..."}'
        raise RequestRejected(FieldError(at, message)) from None
    if size_bytes > MAX_VALUE_BYTES:
        message = f"a value of more than {MAX_VALUE_BYTES} bytes as JSON"
        raise RequestRejected(FieldError(at, message))


def _named(name: str, values: Any, at: str) -> Axis:
    listed = _list(values, at)
    for index, value in enumerate(listed):
        if not isinstance(value, str) or not 0 < len(value) <= MAX_LABEL_CHARS:
            message = (
                f"{shown(value)} is not a valid {name}; write a text such as {_EXAMPLES[name]!r}"
            )
            raise RequestRejected(FieldError(f"{at}/{index}", message))
    return _axis(name, at, [*map(canonical_target, listed)] if name == "target" else listed)


_EXAMPLES = {"target": "cuda:90", "triton": "3.9.0"}


def _grids(values: Any, at: str) -> Axis:
    for index, value in enumerate(_list(values, at)):
        if not isinstance(value, list):
            message = (
                f'{shown(value)} is not a grid; each is a list, such as [128] or ["cdiv(n, BLOCK)"]'
            )
            raise RequestRejected(FieldError(f"{at}/{index}", message))
    return _listed("grid", values, at)


def _labelled(name: str, written: Any, at: str) -> Axis:
    """Return an axis whose values go by labels: those of an object, or the indices of a list."""
    if isinstance(written, list):
        contents, labels = _list(written, at), tuple(str(i) for i in range(len(written)))
    elif isinstance(written, dict) and written:
        contents, labels = list(written.values()), tuple(written)
    else:
        raise RequestRejected(FieldError(at, f"must be an object from labels to {_CONTENTS[name]}"))
    if len(labels) > MAX_LABELS:
        raise RequestRejected(FieldError(at, f"{len(labels)} values; the limit is {MAX_LABELS}"))
    for label, content in zip(labels, contents, strict=True):
        own_at = at + pointer(label)
        if not 0 < len(label) <= MAX_LABEL_CHARS:
            message = f"a label has 1 to {MAX_LABEL_CHARS} characters"
            raise RequestRejected(FieldError(own_at, message))
        if not isinstance(content, str if name == "source" else dict | list) or content == "":
            raise RequestRejected(FieldError(own_at, f"{shown(content)} is not {_CONTENT[name]}"))
    return Axis(name, at, labels, labels, tuple(contents))


_CONTENTS = {"source": "texts of Python", "arguments": 'arguments, such as {"small": {"n": 1024}}'}
_CONTENT = {"source": "the text of a source", "arguments": "an object of arguments by name"}


def _list(values: Any, at: str) -> list[Any]:
    if not isinstance(values, list):
        raise RequestRejected(FieldError(at, f"must be a list of values, not {shown(values)}"))
    if not values:
        raise RequestRejected(FieldError(at, "an axis without values leaves no variant"))
    return values


def _axis(name: str, at: str, values: list[Any]) -> Axis:
    first: dict[int | str, int] = {}
    for index, value in enumerate(values):
        known = first.setdefault(value if type(value) is int else _as_text(value), index)
        if known != index:
            message = f"{shown(value)} is at {known} already; list each value once"
            raise RequestRejected(FieldError(f"{at}/{index}", message))
    return Axis(name, at, tuple(values), tuple(range(len(values))))


def _as_text(value: Any) -> str:
    # decoded, since the bytes of each take a kilobyte until they are freed
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()

"""Wrong bodies, as expensive as possible, for each route that reads JSON.

Each has the maximum size of its route, or the maximum number of values, whichever comes first. Some
exceed these limits, and must be refused before they are parsed.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from refused_places import HOLE, HOLES, ROOTS

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}
MAX_VALUES = 295_000
MAX_CONTAINERS = 98_000
MAX_VALUES_OF_TOOL = 49_000
MAX_CONTAINERS_OF_TOOL = 9_800
BODY_BYTES = 8 << 20
BATCH_BYTES = 16 << 20
STATE_BYTES = 2 << 20
TOOL_BYTES = 2 << 20


@dataclass(frozen=True, slots=True)
class Refused:
    """A body for `method` and `path`, created on demand."""

    name: str
    path: str
    content: Callable[[], bytes]
    method: str = "POST"
    path_of: Callable[[bytes], str] | None = None

    def at(self, content: bytes) -> "Refused":
        """Return this with the path for its content."""
        return self if self.path_of is None else replace(self, path=self.path_of(content))


@dataclass(frozen=True, slots=True)
class _Room:
    """The space that a filler may use."""

    size_bytes: int
    values: int
    containers: int

    def count(self, item: str, names: int = 0) -> int:
        """Return how many of `item`, with a comma and `names` colons each, fit."""
        containers = item.count("[") + item.count("{")
        return min(
            self.size_bytes // (len(item) + 1),
            self.values // (1 + containers + names + item.count(":")),
            self.containers // max(1, containers) if containers else self.values,
        )

    def split(self, parts: int) -> "_Room":
        """Return the space of one of `parts` parts."""
        return _Room(self.size_bytes // parts, self.values // parts, self.containers // parts)


Filler = Callable[[_Room], str]


def _listed(item: str) -> Filler:
    return lambda room: "[" + ",".join([item] * max(1, room.count(item))) + "]"


def _named(item: str, name: str = "argument") -> Filler:
    def filled(room: _Room) -> str:
        count = max(1, room.count(f'"{name}00000":{item}'))
        return "{" + ",".join(f'"{name}{index:x}":{item}' for index in range(count)) + "}"

    return filled


_DEEP = "[" * 150 + "]" * 150
FILLERS: dict[str, Filler] = {
    "objects in a list": _listed("{}"),
    "lists in a list": _listed("[]"),
    "objects with a member in a list": _listed('{"":0}'),
    "deep lists": _listed(_DEEP),
    "numbers in a list": _listed("0"),
    "texts in a list": _listed('"a"'),
    "long texts in a list": _listed('"' + "a" * 100 + '"'),
    "numbers by name": _named("0"),
    "objects by name": _named("{}"),
    "long names": _named("0", name="a" * 200),
    "a number of many digits in a list": _listed("1" * 199),
    "one long text": lambda room: '"' + "\\u00e9" * (room.size_bytes // 6) + '"',
    "one long name": lambda room: '{"' + "a" * room.size_bytes + '":{"shape":{}}}',
}


def bodies() -> Iterator[Refused]:
    """Yield all bodies: each hole and each root with each filler, and some others."""
    for name, (path, template) in HOLES.items():
        for what, filler in FILLERS.items():
            yield _refused(f"{name}: {what}", path, template, filler)
    for name, (path, good) in ROOTS.items():
        for what, filler in FILLERS.items():
            yield _refused(f"{name}, all of it: {what}", path, HOLE, filler)
            beyond = f"{name}, all of it, as many as fit: {what}"
            yield _refused(beyond, path, HOLE, filler, as_many_as_fit=True)
        yield _refused(f"{name}: unknown members", path, good, _more_members(good))
    for what, text in _OF_TEXTS.items():
        yield _raw(what, "/v1/compilations", text)


def _more_members(good: dict[str, Any]) -> Filler:
    def filled(room: _Room) -> str:
        return json.dumps(good)[:-1] + "," + _named("0")(room)[1:]

    return filled


def _text(unit: str, commas: int = 0) -> Callable[[], bytes]:
    def made() -> bytes:
        text = b"," * commas + unit.encode() * ((BODY_BYTES - commas - 64) // len(unit.encode()))
        return b'{"target":"cuda:90","source":"' + text + b'"}'

    return made


_OF_TEXTS: dict[str, Callable[[], bytes]] = {
    "a source of escapes, and commas": _text('\\"', 400_000),
    "a source of commas": _text(",[{"),
    "a source of another script": _text("\u00e9"),
    "a source that never ends": lambda: b'{"source":"' + b'\\"' * (BODY_BYTES // 2 - 10),
    "texts without anything between": lambda: b'"' * BODY_BYTES,
    "one number of 8 MiB": lambda: b'{"timeout_s":' + b"1" * (BODY_BYTES - 20) + b"}",
    "one fraction of 8 MiB": lambda: b'{"timeout_s":1.' + b"1" * (BODY_BYTES - 20) + b"}",
    "one member again and again": lambda: (
        b"{" + b",".join([b'"source":"a"'] * (MAX_VALUES // 2)) + b"}"
    ),
    "one number of 4,000 digits, and no end": lambda: (
        b"[" + b"1" * 4000 + b"," + b' "a"' * (BODY_BYTES // 4 - 2000)
    ),
    "brackets that never end": lambda: b"[" * BODY_BYTES,
    "spaces": lambda: b"[" + b" " * (BODY_BYTES - 2) + b"]",
}


def _refused(
    name: str, path: str, template: Any, filler: Filler, *, as_many_as_fit: bool = False
) -> Refused:
    def made() -> bytes:
        size_bytes = _limit_bytes(path)
        values, containers = _most(path, as_many_as_fit=as_many_as_fit)
        around = json.dumps(template)
        if template is not HOLE and f'"{HOLE}"' not in around:  # the filler contains it
            room = _Room(size_bytes - 2 * len(around), values - 100, containers)
            return filler(room).encode()
        holes = around.count(f'"{HOLE}"')
        taken = sum(map(around.count, ",:[{")) + 3 * holes
        rest = _Room(size_bytes - len(around) - 64 * holes, values - taken, containers - taken)
        return around.replace(f'"{HOLE}"', filler(rest.split(holes))).encode()

    return _raw(name, path, made)


def _most(path: str, *, as_many_as_fit: bool) -> tuple[int, int]:
    if as_many_as_fit:
        return BATCH_BYTES, BATCH_BYTES
    if path == "/mcp":
        return MAX_VALUES_OF_TOOL, MAX_CONTAINERS_OF_TOOL
    return MAX_VALUES, MAX_CONTAINERS


def _limit_bytes(path: str) -> int:
    if path in ("/v1/batches", "/v1/sweeps", "/evaluate/batch"):
        return BATCH_BYTES
    if path == "/mcp":
        return TOOL_BYTES
    return STATE_BYTES if path == "/v1/states/" else BODY_BYTES


def _raw(name: str, path: str, made: Callable[[], bytes]) -> Refused:
    if path == "/v1/states/":
        return Refused(name, path + "sha256:" + "0" * 64, made, "PUT", _state_path)
    return Refused(name, path, made)


def _state_path(content: bytes) -> str:
    return f"/v1/states/sha256:{hashlib.sha256(content).hexdigest()}"

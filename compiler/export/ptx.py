"""Takes the PTX of one kernel apart: what is declared before the entry, its head, and its body."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from compiler.export.refusal import NotExportable

_ENTRY = re.compile(
    r"^\.visible \.entry (?P<name>[\w$]+)\((?P<parameters>[^)]*)\)(?P<head>[^{]*)^\{$", re.MULTILINE
)
_SHARED = re.compile(r"^\.extern \.shared \.align (\d+) \.b8 ([\w$]+)\[\];$", re.MULTILINE)
_TABLE = re.compile(
    r"^\.(?:global|const) \.align (?P<align>\d+) \.b8 (?P<name>[\w$]+)\[(?P<size>\d+)\] = "
    r"\{(?P<bytes>[^}]*)\};",
    re.MULTILINE,
)
_VARIABLE = re.compile(
    r"^(?:\.extern |\.visible |\.weak )?\.(?:global|const|shared) .*?([\w$]+)(?:\[\d*\])*(?: =|;)",
    re.MULTILINE,
)
_DROPPED = re.compile(r"\s*(?:\.loc|\.file|\.section)\b")
_VERSION = re.compile(r"^\.version (\S+)$", re.MULTILINE)
_TARGET = re.compile(r"^\.target (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Table:
    """Constant bytes that a kernel reads, such as those of a device library's sine."""

    name: str
    align: int
    data: tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """The one kernel of a PTX module. `body` has no comments, lines or debug sections."""

    name: str
    version: str
    target: str
    parameter_names: tuple[str, ...]
    directives: tuple[str, ...]
    """Of the head, such as `.reqntid 128`."""
    shared_name: str | None
    shared_align: int
    tables: tuple[Table, ...]
    body: tuple[str, ...]


def read_entry(text: str) -> Entry:
    """Return the entry of the PTX module `text`. Raises NotExportable when it has not just one."""
    found = list(_ENTRY.finditer(text))
    if len(found) != 1:
        message = f"The PTX has {len(found)} entries; exactly one can be exported."
        raise NotExportable(message)
    (match,) = found
    before = text[: match.start()]
    shared = _SHARED.findall(before)
    lines = _body(text[match.end() :])
    body = tuple(line for line in lines if line.strip() and not _DROPPED.match(line))
    tables = tuple(table for table in _tables(before) if _is_used(table.name, body))
    _check_variables(before, body, {name for _, name in shared} | {table.name for table in tables})
    names = re.findall(r"([\w$]+)(?:\[\d+\])?\s*(?:,|$)", " ".join(match["parameters"].split()))
    version, target = _VERSION.search(before), _TARGET.search(before)
    return Entry(
        name=match["name"],
        version=version[1] if version else "",
        target=target[1] if target else "",
        parameter_names=tuple(names),
        directives=tuple(line.strip() for line in match["head"].splitlines() if line.strip()),
        shared_name=shared[0][1] if shared else None,
        shared_align=max((int(align) for align, _ in shared), default=0),
        tables=tables,
        body=body,
    )


def _check_variables(before: str, body: tuple[str, ...], known: set[str]) -> None:
    for name in _VARIABLE.findall(before):
        if name not in known and _is_used(name, body):
            message = f"The kernel uses the variable {name}, which cannot be exported inline."
            raise NotExportable(message)


def _is_used(name: str, body: tuple[str, ...]) -> bool:
    pattern = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    return any(pattern.search(line) for line in body)


def _tables(text: str) -> Iterator[Table]:
    for match in _TABLE.finditer(text):
        data = [int(byte) for byte in match["bytes"].split(",")]
        data += [0] * (int(match["size"]) - len(data))  # as in C, the rest is zero
        yield Table(match["name"], int(match["align"]), tuple(data))


def _body(text: str) -> Iterator[str]:
    """Yield the lines up to the brace that closes the entry, without comments."""
    depth = 1
    for line in text.splitlines():
        line = re.sub(r"\s*//.*$", "", line)
        depth += line.count("{") - line.count("}")
        if depth <= 0:
            return
        yield line

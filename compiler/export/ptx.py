"""Splits the PTX of one kernel: the declarations before the entry, its head, and its body."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from compiler.export.exported_kernel import NotExportable

_MARK = ".entry"
_PARAMETER = re.compile(
    r"\s*\.param (?:\.align \d+ )?\.[busf]\d+(?: \.ptr)?(?: \.(?:global|const|shared))?"
    r"(?: \.align \d+)? (?P<name>[\w$]+)(?:\[\d+\])?,?",
    re.ASCII,
)
_DIRECTIVE = re.compile(
    r"\.(?:reqntid|maxntid|minnctapersm|maxnctapersm|maxnreg|reqnctapercluster|maxclusterrank|"
    r"explicitcluster|blocksareclusters|noreturn)(?: \d+(?:, \d+)*)?",
    re.ASCII,
)
_SHARED = re.compile(
    r"^\.extern \.shared \.align (\d+) \.b8 ([\w$]+)\[\];$", re.MULTILINE | re.ASCII
)
_TABLE = re.compile(
    r"^\.(?:global|const) \.align (?P<align>\d+) \.b8 (?P<name>[\w$]+)\[(?P<size>\d+)\] = "
    r"\{(?P<bytes>[\d, ]*)\};",
    re.MULTILINE | re.ASCII,
)
_VARIABLE = re.compile(
    r"^(?:\.extern |\.visible |\.weak )?\.(?:global|const|shared) .*?([\w$]+)(?:\[\d*\])*(?: =|;)",
    re.MULTILINE | re.ASCII,
)
_DROPPED = re.compile(r"\s*(?:\.loc|\.file|\.section)\b")
_VERSION = re.compile(r"^\.version (\d+\.\d+)$", re.MULTILINE | re.ASCII)
_TARGET = re.compile(r"^\.target (\w+)", re.MULTILINE | re.ASCII)


@dataclass(frozen=True)
class PtxTable:
    """Constant bytes that a kernel reads, such as those of a device library's sine."""

    name: str
    align: int
    data: tuple[int, ...]


@dataclass(frozen=True)
class PtxEntry:
    """The one kernel of a PTX module. `body` has no comments, lines or debug sections."""

    name: str
    version: str
    target: str
    parameter_names: tuple[str, ...]
    directives: tuple[str, ...]
    """Directives of the head, such as `.reqntid 128`."""
    shared_name: str | None
    shared_align: int
    tables: tuple[PtxTable, ...]
    body: tuple[str, ...]


def read_entry(text: str, name: str) -> PtxEntry:
    """Return the entry `name` of the PTX module `text`.

    The text of a user's inline assembly never decides what a part of the text is. Raises
    NotExportable for a module that has not just this entry, or is not as Triton writes it.
    """
    before, head, rest = _parts(text, name)
    shared = _SHARED.findall(before)
    body = tuple(line for line in _body(rest) if line.strip() and not _DROPPED.match(line))
    tables = tuple(table for table in _tables(before) if _is_used(table.name, body))
    _check_variables(before, body, {name for _, name in shared} | {table.name for table in tables})
    version, target = _VERSION.search(before), _TARGET.search(before)
    return PtxEntry(
        name=name,
        version=version[1] if version else "",
        target=target[1] if target else "",
        parameter_names=tuple(_parameter_names(head.partition("(")[2].partition(")")[0])),
        directives=tuple(_directives(head.partition(")")[2])),
        shared_name=shared[0][1] if shared else None,
        shared_align=max((int(align) for align, _ in shared), default=0),
        tables=tables,
        body=body,
    )


def _parts(text: str, name: str) -> tuple[str, str, str]:
    """Return the text before the entry, its head, and the text after its opening brace."""
    if text.count(_MARK) != 1:
        message = f"The PTX contains {_MARK} {text.count(_MARK)} times; just one can be exported."
        raise NotExportable(message)
    if not text.isascii() or "/*" in text or "\0" in text:
        message = "The PTX holds comments of C or characters that are not ASCII: not exportable."
        raise NotExportable(message)
    before, begins, after = text.partition(f"\n.visible .entry {name}(")
    head, opens, rest = after.partition("\n{\n")
    if not begins or not opens:
        message = f"The PTX has no entry {name} that is written as Triton writes it."
        raise NotExportable(message)
    return before, "(" + head, rest


def _parameter_names(text: str) -> Iterator[str]:
    for line in filter(str.strip, text.splitlines()):
        match = _PARAMETER.fullmatch(line)
        if match is None:
            message = f"The PTX declares a parameter in an unknown way: {line.strip()[:100]}"
            raise NotExportable(message)
        yield match["name"]


def _directives(text: str) -> Iterator[str]:
    for line in filter(None, map(str.strip, text.splitlines())):
        if not _DIRECTIVE.fullmatch(line):
            message = f"The PTX's entry has an unknown directive: {line[:100]}"
            raise NotExportable(message)
        yield line


def _check_variables(before: str, body: tuple[str, ...], known: set[str]) -> None:
    for name in _VARIABLE.findall(before):
        if name not in known and _is_used(name, body):
            message = f"The kernel uses the variable {name}, which cannot be exported inline."
            raise NotExportable(message)


def _is_used(name: str, body: tuple[str, ...]) -> bool:
    pattern = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    return any(pattern.search(line) for line in body)


def _tables(text: str) -> Iterator[PtxTable]:
    for match in _TABLE.finditer(text):
        data = [int(byte) for byte in match["bytes"].split(",")]
        data += [0] * (int(match["size"]) - len(data))  # as in C, the rest is zero
        yield PtxTable(match["name"], int(match["align"]), tuple(data))


def _body(text: str) -> Iterator[str]:
    """Yield the lines up to the brace that closes the entry, without comments."""
    depth = 1
    for line in text.splitlines():
        line = line.partition("//")[0].rstrip()
        depth += line.count("{") - line.count("}")
        if depth <= 0:
            return
        yield line

"""The line table: for each of the user's lines, the lines that come from it.

A line of an artifact is listed under each of the user's lines on its chain: that of the helper it
was written in, and those of the calls through which it came to be there.
"""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from compiler.lines.assembly import map_assembly
from compiler.lines.mlir import map_mlir
from compiler.lines.sass import map_sass
from compiler.lines.source_location import InlineChain, LineMap, SourceLine, with_first_uses
from compiler.stages import BY_NAME, MAPPED, Syntax

_METADATA = re.compile(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$")
_FIELD = re.compile(r'(\w+): ("(?:[^"\\]|\\.)*"|!\d+|\d+)')
_DBG = re.compile(r"!dbg !(\d+)")
_MAX_STEPS = 20


class _Metadata:
    """The debug metadata of one module."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._chains: dict[str, InlineChain] = {}

    @cached_property
    def _nodes(self) -> dict[str, tuple[str, dict[str, str]]]:
        matches = map(_METADATA.match, self._text.splitlines())
        return {m[1]: (m[2], dict(_FIELD.findall(m[3]))) for m in matches if m}

    def chain(self, name: str) -> InlineChain:
        """Return the places of the DILocation or DISubprogram `name`, innermost first."""
        if name not in self._chains:
            self._chains[name] = tuple(self._locations(name))
        return self._chains[name]

    def _locations(self, name: str) -> list[SourceLine]:
        locations = []
        for _ in range(_MAX_STEPS):
            kind, fields = self._nodes.get(name, ("", {}))
            if kind not in {"DILocation", "DISubprogram"}:
                break
            file, line = self._file_of(name), int(fields.get("line", "0"))
            if file and line:
                locations.append(SourceLine(file, line))
            name = fields.get("inlinedAt", "!").removeprefix("!")
        return locations

    def _file_of(self, name: str) -> str | None:
        for _ in range(_MAX_STEPS):
            kind, fields = self._nodes.get(name, ("", {}))
            if kind == "DIFile":
                filename = fields.get("filename", "").strip('"')
                folder = fields.get("directory", "").strip('"')
                return f"{folder}/{filename}" if folder else filename
            name = fields.get("file", fields.get("scope", "")).removeprefix("!")
        return None


def map_llvm_ir(text: str) -> LineMap:
    """Return the line map of `text`."""
    metadata = _Metadata(text)
    chains: dict[int, InlineChain] = {}
    operations: set[int] = set()
    within = False
    for number, line in enumerate(text.splitlines(), 1):
        starts = line.startswith("define ")
        within = starts or (within and not line.startswith("}"))
        if not within:
            continue
        if starts or line.startswith("  "):
            operations.add(number)
        if match := _DBG.search(line):
            chain = metadata.chain(match[1])
            if chain:
                chains[number] = chain
    known = frozenset(operations)
    return LineMap(with_first_uses(text.splitlines(), chains, known), known)


USER_FOLDER = "/kernel/"
READERS: Mapping[Syntax, Callable[[str], LineMap]] = {
    "mlir": map_mlir,
    "llvm": map_llvm_ir,
    "ptx": map_assembly,
    "amdgcn": map_assembly,
    "sass": map_sass,
}
"""The reader of a text that has the lines of other files, by its syntax."""
MAPS = {name: READERS[BY_NAME[name].syntax] for name in MAPPED}
"""The same by the name of a stage, in the order of the pipeline."""


def line_maps(artifacts: Mapping[str, str]) -> dict[str, LineMap]:
    """Return the line maps of those of `artifacts`, texts by stage, that are mapped."""
    return {stage: MAPS[stage](text) for stage, text in artifacts.items() if stage in MAPS}


def table(maps: Mapping[str, LineMap]) -> list[dict[str, Any]]:
    """Return one entry per line of the user's that some artifact stems from.

    `maps` are those of the artifacts by stage. Files are named as the user named them, without a
    folder of this server; lines of Triton's own library do not occur.
    """
    rows: dict[tuple[str, int], dict[str, list[int]]] = {}
    for stage, stage_map in maps.items():
        for number, chain in stage_map.chains.items():
            for location in user_lines_of(chain):
                row = rows.setdefault(location, {name: [] for name in MAPS})
                row[stage].append(number)
    return [
        {"file": file, "line": line, **{stage: sorted(row[stage]) for stage in MAPS}}
        for (file, line), row in sorted(rows.items())
    ]


def user_lines_of(chain: InlineChain) -> list[tuple[str, int]]:
    """Return the user's files and lines on `chain`, innermost first, each once."""
    locations = [
        (location.file.removeprefix(USER_FOLDER), location.line)
        for location in chain
        if location.file.startswith(USER_FOLDER)
    ]
    return list(dict.fromkeys(locations))

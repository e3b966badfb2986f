"""The line map of LLVM IR: from `!dbg` through DILocation, its scope's file, and inlinedAt."""

import re
from functools import cached_property

from compiler.lines.source_location import InlineChain, LineMap, SourceLine, with_first_uses

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
        found = map(_METADATA.match, self._text.splitlines())
        return {m[1]: (m[2], dict(_FIELD.findall(m[3]))) for m in found if m}

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

"""The line map of MLIR text (TTIR, TTGIR): from the locations that its operations end with.

An operation with regions has its location behind the last closing brace; its first line gets it.
The grammar of locations (aliases, inlined calls, fused and named ones) is MLIR's
(mlir/lib/AsmParser/LocationParser.cpp), of which Triton prints this part.
"""

import re
from collections.abc import Iterator
from itertools import islice

from compiler.lines.source_location import (
    InlineChain,
    LineMap,
    SourceLine,
    SourceLocation,
    with_first_uses,
)

_ALIAS = re.compile(r"^(#loc\w*) = loc\((.*)\)$")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_LINE = re.compile(r":(\d+)(?::(\d+))?")
_MAX_DEPTH = 20
_MAX_SPOTS = 64
"""Limit of one location; of more fused ones the first are kept."""
_MAX_TRIES = 8
"""The possible starts of the location that ends a line: the last places that look like it."""
_OPENING, _CLOSING = "([{<", ")]}>"


class MlirLocations:
    """The locations of one module, by alias; each alias is resolved once."""

    def __init__(self, text: str) -> None:
        matches = map(_ALIAS.match, text.splitlines())
        self._definitions = {match[1]: match[2] for match in matches if match}
        self._known: dict[str, tuple[SourceLocation, ...]] = {}
        self._chains: dict[str, InlineChain] = {}

    def resolve(self, words: str) -> InlineChain:
        """Return the chain for `words`, the inside of a `loc(...)`."""
        if words not in self._chains:
            locations = self.locations(words)
            self._chains[words] = tuple(
                SourceLine(location.file, location.line) for location in locations
            )
        return self._chains[words]

    def locations(self, words: str, depth: int = 0) -> tuple[SourceLocation, ...]:
        """Return the same with columns."""
        words = words.strip()
        if depth > _MAX_DEPTH:
            return ()
        if words.startswith("#"):
            return self._of_alias(words, depth)
        if words.startswith("callsite("):
            parts = _split(_inside(words[len("callsite") :]), " at ")
        elif words.startswith("fused"):
            parts = _split(_inside(words[words.find("[") :]), ",")
        else:
            return self._of_file_or_name(words, depth)
        locations = (location for part in parts for location in self.locations(part, depth + 1))
        return tuple(islice(locations, _MAX_SPOTS))

    def _of_alias(self, name: str, depth: int) -> tuple[SourceLocation, ...]:
        if name not in self._known:
            self._known[name] = self.locations(self._definitions.get(name, "unknown"), depth + 1)
        return self._known[name]

    def _of_file_or_name(self, words: str, depth: int) -> tuple[SourceLocation, ...]:
        quoted = _QUOTED.match(words)
        if quoted is None:
            return ()  # unknown
        rest = words[quoted.end() :]
        if line := _LINE.match(rest):
            column = max(int(line[2] or 1), 1)
            return (SourceLocation(quoted[1], int(line[1]), column),) if int(line[1]) else ()
        return self.locations(_inside(rest), depth + 1) if rest.startswith("(") else ()


def trailing_location(line: str) -> str | None:
    """Return the inside of the `loc(...)` that ends `line`, None where there is none."""
    line = line.rstrip()
    if not line.endswith(")"):
        return None
    start = line.rfind(" loc(")
    for _ in range(_MAX_TRIES):
        if start < 0:
            break
        inside = _inside(line[start + len(" loc") :])
        if start + len(" loc(") + len(inside) + 1 == len(line):
            return inside
        start = line.rfind(" loc(", 0, start)
    return None


def _inside(words: str) -> str:
    """Return the content of the bracket that `words` begins with."""
    for index, depth in _depths(words):
        if depth == 0:
            return words[1:index]
    return ""


def _split(words: str, separator: str) -> list[str]:
    """Split `words` where `separator` is outside of every bracket and string."""
    parts, start = [], 0
    for index, depth in _depths(words):
        if depth == 0 and index >= start and words.startswith(separator, index):
            parts.append(words[start:index])
            start = index + len(separator)
    return [*parts, words[start:]]


def _depths(words: str) -> Iterator[tuple[int, int]]:
    """Yield the index of every character outside of strings with the bracket depth after it."""
    depth, quoted, escaped = 0, False, False
    for index, character in enumerate(words):
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
            continue
        quoted = character == '"'
        depth += (character in _OPENING) - (character in _CLOSING)
        if not quoted:
            yield index, depth


_NO_OPERATION = re.compile(r"\s*(?:#|//|\^|\}|module\b|\{-#|$)")


def map_mlir(text: str) -> LineMap:
    """Return the line map of `text`, which was printed with locations."""
    locations = MlirLocations(text)
    chains: dict[int, InlineChain] = {}
    operations: set[int] = set()
    openers: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        words = trailing_location(line)
        chain = locations.resolve(words) if words is not None else ()
        if not _NO_OPERATION.match(line):
            operations.add(number)
        opener = openers.pop() if openers and line.lstrip().startswith("}") else None
        if line.rstrip().endswith("{"):
            openers.append(opener or number)
        if chain:
            chains[number] = chain
            if opener is not None:
                chains.setdefault(opener, chain)
    known = frozenset(operations)
    return LineMap(with_first_uses(text.splitlines(), chains, known), known)

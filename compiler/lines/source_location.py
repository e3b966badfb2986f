"""The source location of an artifact's line: places in files, innermost inlined call first.

Constants that a pass pulled together, and instructions that LLVM merged from several lines, have no
separate location: they get the place where they are first used, as who reads the user's line
wants to see them there.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple


class SourceLine(NamedTuple):
    """A 1-based line of a file, by the file's path."""

    file: str
    line: int


InlineChain = tuple[SourceLine, ...]


class SourceLocation(NamedTuple):
    """A 1-based line and column of a file, by the file's path."""

    file: str
    line: int
    column: int


@dataclass(frozen=True)
class LineMap:
    """The line map of one artifact: a chain for each line that has one, and the lines with code.

    Lines are 1-based lines of the artifact. `operations` are those that could have a chain.
    """

    chains: Mapping[int, InlineChain]
    operations: frozenset[int]


_RESULT = re.compile(r"\s*(%[\w.$-]+)(?::\d+)?(?:, %[\w.$-]+)* = ")
_VALUE = re.compile(r"%[\w.$-]+")
_FUNCTION = re.compile(r"\s*(?:(?:tt|llvm)\.func|define)\b")


def with_first_uses(
    lines: Iterable[str], chains: Mapping[int, InlineChain], operations: frozenset[int]
) -> dict[int, InlineChain]:
    """Return `chains` with those of operations that had none but whose result is used."""
    completed = dict(chains)
    used: dict[str, InlineChain] = {}
    for number, line in reversed(list(enumerate(lines, 1))):
        if _FUNCTION.match(line):
            used.clear()  # names start over in every function
        if number not in operations:
            continue
        result = _RESULT.match(line)
        if number not in completed and result is not None and result[1] in used:
            completed[number] = used[result[1]]
        if number in completed:
            # upwards, so that the first use remains in the end
            used.update(dict.fromkeys(_VALUE.findall(line), completed[number]))
    return completed

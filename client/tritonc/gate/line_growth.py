"""Finds the source lines whose instructions increased between two measurements of a kernel.

Line numbers change more often than a baseline, so it identifies lines by their text. Equal lines
are counted together there, and reported as the one with more instructions now.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tritonc.gate.cell_numbers import LineMix
from tritonc.gate.report_text import shown_path
from tritonc.gate.source_lines import SourceLines

LineCounts = Mapping[str, Mapping[str, int]]
"""Instructions by the text of a line, then by class."""
MAX_LINES = 3
NOTHING_BESIDE = 10  # ignore lines that grew by less than a tenth of the largest growth


@dataclass(frozen=True, slots=True)
class Growth:
    """Instructions of a line: `kind` is their class, "" for all. `before` is None if unknown."""

    path: Path
    line: int
    text: str
    kind: str
    before: int | None
    now: int

    @property
    def growth(self) -> int:
        """The number of additional instructions."""
        return self.now - (self.before or 0)

    @property
    def place(self) -> str:
        """The file and the line."""
        return f"{shown_path(self.path)}:{self.line}"

    def counts(self) -> str:
        """Return the numbers as text."""
        kind = f"{self.kind} " if self.kind else ""
        change = "" if self.before is None else f"{self.before} -> "
        return f"{change}{self.now} {kind}instructions"

    def __str__(self) -> str:
        """Return the growth with its location, in a compiler's format."""
        return f"{self.place}: {self.counts()}: {self.text}"


def line_counts(lines: tuple[LineMix, ...], texts: SourceLines) -> dict[str, dict[str, int]]:
    """Return the instructions by the texts of their lines."""
    counted: dict[str, Counter[str]] = {}
    for mix in lines:
        counted.setdefault(texts.name(mix.file, mix.line), Counter()).update(mix.by_class)
    return {name: dict(counts) for name, counts in counted.items()}


def grown_lines(
    lines: tuple[LineMix, ...], before: LineCounts | None, texts: SourceLines, kind: str
) -> tuple[Growth, ...]:
    """Return the lines whose instructions grew most; without `before`, those with the most."""
    now = line_counts(lines, texts)
    largest: dict[str, LineMix] = {}
    for mix in lines:
        name = texts.name(mix.file, mix.line)
        if name not in largest or _of(mix.by_class, kind) > _of(largest[name].by_class, kind):
            largest[name] = mix
    growths = []
    for name, counts in now.items():
        here = _of(counts, kind)
        there = None if before is None else _of(before.get(name, {}), kind)
        if here > (there or 0):
            mix = largest[name]
            line, text = texts.statement(mix.file, mix.line), texts.text(mix.file, mix.line)
            growths.append(Growth(texts.path(mix.file), line, text, kind, there, here))
    growths.sort(key=lambda g: (-g.growth, str(g.path), g.line))
    return tuple(g for g in growths[:MAX_LINES] if g.growth * NOTHING_BESIDE > growths[0].growth)


def _of(counts: Mapping[str, int], kind: str) -> int:
    return counts.get(kind, 0) if kind else sum(counts.values())

"""Finds the source lines whose instructions increased between two measurements of a kernel.

Line numbers change more often than a baseline, so it identifies lines by their text. Equal lines
are counted together there, and reported as the one with more instructions now. A line whose text is
not in the baseline is compared with the most similar one there that the source has no more.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from tritonc.gate.cell_numbers import LineMix
from tritonc.gate.report_text import shown_path
from tritonc.gate.source_lines import NUMBERED, SourceLines

LineCounts = Mapping[str, Mapping[str, int]]
"""Instructions by the text of a line, then by class."""
MAX_LINES = 3
_NO_TEXT = re.compile(rf"(?:^|: ){NUMBERED}\d+$")
MAX_EDITED, MAX_GONE = 50, 200  # lines that are compared with each other
NOTHING_BESIDE = 10  # ignore lines that grew by less than a tenth of the largest growth


@dataclass(frozen=True, slots=True)
class Growth:
    """Instructions of a line: `kind` is their class, "" for all. `before` is None if unknown.

    `edit` describes how its text differs from that of the line before, if it does.
    """

    path: Path
    line: int
    text: str
    kind: str
    before: int | None
    now: int
    edit: str = ""

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
        edit = f" ({self.edit})" if self.edit else ""
        return f"{change}{self.now} {kind}instructions{edit}"

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
    twins = {} if before is None else _edited(largest, before, texts)
    growths = []
    for name, counts in now.items():
        here = _of(counts, kind)
        twin = twins.get(name, name)
        there = None if before is None else _of(before.get(twin or "", {}), kind)
        if here > (there or 0):
            mix = largest[name]
            line, text = texts.statement(mix.file, mix.line), texts.text(mix.file, mix.line)
            edit = "" if twin == name else "edited line" if twin else "edited or new line"
            growths.append(Growth(texts.path(mix.file), line, text, kind, there, here, edit))
    growths.sort(key=lambda g: (-g.growth, str(g.path), g.line))
    return tuple(g for g in growths[:MAX_LINES] if g.growth * NOTHING_BESIDE > growths[0].growth)


def _edited(
    lines: Mapping[str, LineMix], before: LineCounts, texts: SourceLines
) -> dict[str, str | None]:
    """Return the line before by the name of each line that was edited.

    It is None for a line that may be any of those that are left.
    """
    gone = [name for name in before if not (texts.has(name) or _NO_TEXT.search(name))][:MAX_GONE]
    new = [name for name in lines if not (name in before or _NO_TEXT.search(name))]
    new.sort(key=lambda name: -_of(lines[name].by_class, ""))
    twins: dict[str, str | None] = {}
    for name in new[:MAX_EDITED] if gone else ():
        prefix = texts.prefix(lines[name].file)
        same_file = {old.removeprefix(prefix): old for old in gone if old.startswith(prefix)}
        close = get_close_matches(name.removeprefix(prefix), same_file, n=1)
        twins[name] = same_file[close[0]] if close else None
        gone = [old for old in gone if old != twins[name]]
    return twins if gone else {name: twin for name, twin in twins.items() if twin}


def _of(counts: Mapping[str, int], kind: str) -> int:
    return counts.get(kind, 0) if kind else sum(counts.values())

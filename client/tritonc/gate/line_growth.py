"""Which of the user's lines the instructions grew at, between two measurements of a kernel.

A baseline outlives the numbers of lines: it knows a line by its text. Two lines with one text are
counted together there, and told by the one that has more instructions now.
"""

import ast
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tritonc.diagnostic import POSTED_SOURCE
from tritonc.gate.cell_numbers import LineMix
from tritonc.gate.gated_kernel import GatedKernel
from tritonc.gate.report_text import shown_path

LineCounts = Mapping[str, Mapping[str, int]]
"""Instructions by the text of a line, then by class."""
TOLD = 3
NOTHING_BESIDE = 10  # a line that grew by a tenth of what another did is not to blame
MAX_TEXT_CHARS = 160


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
        """How many instructions came to it."""
        return self.now - (self.before or 0)

    def counts(self) -> str:
        """Return the numbers in words."""
        kind = f"{self.kind} " if self.kind else ""
        change = "" if self.before is None else f"{self.before} -> "
        return f"{change}{self.now} {kind}instructions"

    def __str__(self) -> str:
        """Return it with its place, as compilers write one."""
        return f"{shown_path(self.path)}:{self.line}: {self.counts()}: {self.text}"


def line_counts(lines: tuple[LineMix, ...], kernel: GatedKernel) -> dict[str, dict[str, int]]:
    """Return the instructions by the texts of their lines."""
    texts = SourceLines(kernel)
    counted: dict[str, Counter[str]] = {}
    for mix in lines:
        counted.setdefault(texts.name(mix.file, mix.line), Counter()).update(mix.by_class)
    return {name: dict(counts) for name, counts in counted.items()}


def grown_lines(
    lines: tuple[LineMix, ...], before: LineCounts | None, kernel: GatedKernel, kind: str
) -> tuple[Growth, ...]:
    """Return the lines whose instructions of a class grew most, or without `before` have most."""
    texts = SourceLines(kernel)
    now = line_counts(lines, kernel)
    largest: dict[str, LineMix] = {}
    for mix in lines:
        name = texts.name(mix.file, mix.line)
        if name not in largest or _of(mix.by_class, kind) > _of(largest[name].by_class, kind):
            largest[name] = mix
    found = []
    for name, counts in now.items():
        here = _of(counts, kind)
        there = None if before is None else _of(before.get(name, {}), kind)
        if here > (there or 0):
            mix = largest[name]
            line, text = texts.statement(mix.file, mix.line), texts.text(mix.file, mix.line)
            found.append(Growth(texts.path(mix.file), line, text, kind, there, here))
    found.sort(key=lambda g: (-g.growth, str(g.path), g.line))
    return tuple(g for g in found[:TOLD] if g.growth * NOTHING_BESIDE > found[0].growth)


class SourceLines:
    """The lines of a kernel's files, by the names that the service gives to these.

    A line stands for its statement: which line of a long one an instruction has differs from
    Triton to Triton.
    """

    def __init__(self, kernel: GatedKernel) -> None:
        self._kernel = kernel
        texts = {POSTED_SOURCE: kernel.source, **kernel.members.get("files", {})}
        self._lines = {file: text.splitlines() for file, text in texts.items()}
        self._starts = {file: _statement_starts(text) for file, text in texts.items()}

    def statement(self, file: str, line: int) -> int:
        """Return the first line of the statement that a line is of."""
        return self._starts.get(file, {}).get(line, line)

    def path(self, file: str) -> Path:
        """Return where a file is here."""
        return self._kernel.file_paths.get(file, self._kernel.path)

    def text(self, file: str, line: int) -> str:
        """Return the first line of the statement that a line is of, "" where there is none."""
        lines, line = self._lines.get(file, []), self.statement(file, line)
        return lines[line - 1].strip()[:MAX_TEXT_CHARS] if 0 < line <= len(lines) else ""

    def name(self, file: str, line: int) -> str:
        """Return what a line is known by: its text, behind the name of a further file."""
        text = self.text(file, line) or f"line {line}"
        return text if file == POSTED_SOURCE else f"{file[:MAX_TEXT_CHARS]}: {text}"


def _statement_starts(text: str) -> dict[int, int]:
    """Return the first line of the statement by each further line; of a block that of its head."""
    starts: dict[int, int] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the compiler thinks of `"\d"` is not asked
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return starts
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            starts |= dict.fromkeys(range(node.lineno + 1, end + 1), node.lineno)
    return starts


def _of(counts: Mapping[str, int], kind: str) -> int:
    return counts.get(kind, 0) if kind else sum(counts.values())

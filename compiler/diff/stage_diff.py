"""The differences between the texts of a stage of two compilations, as a unified diff.

Names are no difference as long as each name of the one is one name of the other. Lines of the
second are shown with the names of the first, so that what is read twice is what differs.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

from compiler.diff.alignment import Level, Pair, aligned
from compiler.diff.stage_text import (
    LANGUAGES,
    Interner,
    Name,
    StageLine,
    exact_keys,
    plain_keys,
    stage_lines,
    value_keys,
)
from compiler.stages import BY_NAME

MAX_DIFF_BYTES = 128 << 10
"""Limit of one stage."""
CONTEXT_LINES = 3
MAX_LINE_CHARS = 1000
_PHYSICAL = frozenset({"sass", "amdgcn"})
_FEW_MOVED_RATIO, _FEW_MOVED_LINES = 0.1, 4
"""Limits, as a share and a number, for showing lines that differ in registers alone: more are
another allocation, and would hide all else."""


@dataclass(slots=True)
class _Names:
    """Pairs of names of one scope; those in `guessed`, by the first's name, are not certain."""

    to_b: dict[str, str] = field(default_factory=dict)
    to_a: dict[str, str] = field(default_factory=dict)
    guessed: set[str] = field(default_factory=set)

    def bind(self, a: str, b: str) -> None:
        """Match `a` and `b`, and drop their earlier matches."""
        self.forget_a(a)
        self.forget_b(b)
        self.to_b[a], self.to_a[b] = b, a

    def forget_a(self, a: str) -> None:
        """Drop the match of the first text's `a`."""
        if a in self.to_b:
            del self.to_a[self.to_b.pop(a)]
        self.guessed.discard(a)

    def forget_b(self, b: str) -> None:
        """Drop the match of the second text's `b`."""
        if b in self.to_a:
            self.forget_a(self.to_a[b])

    def is_pair(self, a: str, b: str) -> bool:
        """Return True if `a` and `b` match."""
        return self.to_b.get(a) == b

    def is_free(self, a: str, b: str) -> bool:
        """Return True if neither has a match."""
        other = self.to_a.get(b)
        return (a not in self.to_b or a in self.guessed) and (
            other is None or other in self.guessed
        )


class _Naming:
    """The known matches of names of two texts, while both are read from the start."""

    def __init__(self, names_of_a: Iterable[str] = ()) -> None:
        self._taken = frozenset(names_of_a)
        self._of_module = _Names()
        self._of_function = _Names()

    def agree(self, a: StageLine, b: StageLine) -> bool:
        """Return whether two lines of one skeleton have the same names; learn from them."""
        if len(a.names) != len(b.names):
            return False
        if a.begins_function:
            self._of_function = _Names()
        new: list[tuple[_Names, Name, Name]] = []
        is_same = True
        for x, y in zip(a.names, b.names, strict=True):
            names = self._scope(x)
            if x.is_definition:
                new.append((names, x, y))
            elif not names.is_pair(x.text, y.text):
                if names.is_free(x.text, y.text):
                    names.bind(x.text, y.text)
                    new.append((names, x, y))
                else:
                    is_same = False
        for names, x, y in new:
            if x.is_definition:
                names.bind(x.text, y.text)
            if not is_same:
                names.guessed.add(x.text)
        return is_same

    def changed(self, removed: Sequence[StageLine], added: Sequence[StageLine]) -> None:
        """Record differing lines: their results may have other names than before.

        The last result of the one is taken for the last of the other, and so on upwards.
        """
        for line in removed:
            for name in line.names:
                if name.is_definition:
                    self._scope(name).forget_a(name.text)
        for line in added:
            for name in line.names:
                if name.is_definition:
                    self._scope(name).forget_b(name.text)
        for x, y in zip(_results(removed), _results(added), strict=False):
            names = self._scope(x)
            if x.is_of_module == y.is_of_module and names.is_free(x.text, y.text):
                names.bind(x.text, y.text)
                names.guessed.add(x.text)

    def in_names_of_a(
        self, line: StageLine, reused: frozenset[str] | None = None
    ) -> Callable[[], str]:
        """Return what gives a line of the second text with the first's names, as then known.

        If names are `reused`, those have the match of now, and so has each operand with a match.
        What the first lacks keeps its name, with a prime if that means something else there.
        """
        fixed: dict[str, str | None] = {}
        if reused is not None:
            for name in line.names:
                known = self._scope(name).to_a.get(name.text)
                if name.text in reused or (known is not None and not name.is_definition):
                    fixed[name.text] = known
        return partial(self._renamed, line, self._of_function, fixed)

    def _renamed(self, line: StageLine, of_function: _Names, fixed: dict[str, str | None]) -> str:
        parts, start = [], 0
        for name in line.names:
            names = self._of_module if name.is_of_module else of_function
            known = fixed[name.text] if name.text in fixed else names.to_a.get(name.text)
            shown = known or name.text + ("'" if name.text in self._taken else "")
            written = line.text[name.start : name.end]
            parts += [line.text[start : name.start], shown[len(name.text) - len(written) :]]
            start = name.end
        return "".join([*parts, line.text[start:]])

    def _scope(self, name: Name) -> _Names:
        return self._of_module if name.is_of_module else self._of_function


@dataclass(frozen=True, slots=True)
class StageDiff:
    """The difference of a stage: lines `added` and `removed`, and the diff as far as it is shown.

    With `registers_differ` the same instructions use other registers, which `diff` leaves out.
    """

    stage: str
    added: int = 0
    removed: int = 0
    diff: str | None = None
    truncated: bool = False
    registers_differ: bool = False
    only_in: str | None = None

    @property
    def same(self) -> bool:
        """True if nothing differs except names."""
        return not (self.added or self.removed or self.registers_differ or self.only_in)

    def as_json(self) -> dict[str, Any]:
        """Return the answer's JSON."""
        return {
            "stage": self.stage,
            "same": self.same,
            "only_in": self.only_in,
            "added": self.added,
            "removed": self.removed,
            "registers_differ": self.registers_differ,
            "diff": self.diff,
            "truncated": self.truncated,
        }


def stage_diff(stage: str, text_a: str, text_b: str) -> StageDiff:
    """Return how `text_b` differs from `text_a`, both of `stage`."""
    if text_a == text_b:
        return StageDiff(stage)
    a, b = stage_lines(stage, text_a), stage_lines(stage, text_b)
    pairs = aligned(_levels(stage, a, b))
    moved = {pair for pair in pairs if a[pair[0]].exact != b[pair[1]].exact}
    differ_much = len(moved) > max(_FEW_MOVED_LINES, _FEW_MOVED_RATIO * len(pairs))
    naming = _Naming(name.text for line in a for name in line.names)
    reused = _defined_again(b) if LANGUAGES[BY_NAME[stage].syntax].reuses_names else None
    walk = _Walk(a, b, set() if differ_much else moved, naming, reused)
    shown = list(walk.rows(pairs))
    added = sum(row.sign == "+" for row in shown)
    removed = sum(row.sign == "-" for row in shown)
    if not added and not removed:
        return StageDiff(stage, registers_differ=differ_much)
    text, truncated = _unified(stage, shown)
    return StageDiff(stage, added, removed, text, truncated, registers_differ=differ_much)


def stage_of_one(stage: str, side: str, text: str) -> StageDiff:
    """Return the answer for a stage that only `side`, `a` or `b`, has."""
    count = sum(1 for _ in stage_lines(stage, text))
    if side == "a":
        return StageDiff(stage, removed=count, only_in=side)
    return StageDiff(stage, added=count, only_in=side)


def _levels(stage: str, a: Sequence[StageLine], b: Sequence[StageLine]) -> list[Level]:
    intern = Interner()
    plain = Level(plain_keys(a, intern), plain_keys(b, intern))
    if stage in _PHYSICAL:
        return [Level(exact_keys(a, intern), exact_keys(b, intern)), plain]
    by_value = [
        Level(value_keys(a, intern, is_deep=deep), value_keys(b, intern, is_deep=deep))
        for deep in (True, False)
    ]
    return [*by_value, plain]


class _Row(NamedTuple):
    """A line as it is shown: `number` is that of the artifact that has it, or of the first."""

    sign: str
    text: str | Callable[[], str]
    number: int
    number_in_b: int | None = None

    @property
    def words(self) -> str:
        """Return the line's text, with the names that are known at the time of the call."""
        return self.text if isinstance(self.text, str) else self.text()


@dataclass(slots=True)
class _Walk:
    """One way through both texts, along what is aligned; `moved` is not to be taken for equal."""

    a: Sequence[StageLine]
    b: Sequence[StageLine]
    moved: set[Pair]
    naming: _Naming
    reused: frozenset[str] | None
    """Names that a function of the second text defines more than once; None if none can be."""
    removed: list[_Row] = field(default_factory=list)
    added: list[_Row] = field(default_factory=list)

    def rows(self, pairs: Sequence[Pair]) -> Iterator[_Row]:
        """Yield every line in turn; of a change all that is removed comes first."""
        at_a = at_b = 0
        for a, b in pairs:
            self._change(self.a[at_a:a], self.b[at_b:b])
            at_a, at_b = a + 1, b + 1
            if self.naming.agree(self.a[a], self.b[b]) and (a, b) not in self.moved:
                yield from self._changed()
                yield _Row(" ", self.a[a].text, self.a[a].number, self.b[b].number)
            else:  # one change with all lines before the next equal one
                self._show(self.a[a : a + 1], self.b[b : b + 1])
        self._change(self.a[at_a:], self.b[at_b:])
        yield from self._changed()

    def _change(self, removed: Sequence[StageLine], added: Sequence[StageLine]) -> None:
        if removed or added:
            self.naming.changed(removed, added)
            self._show(removed, added)

    def _show(self, removed: Sequence[StageLine], added: Sequence[StageLine]) -> None:
        self.removed += (_Row("-", line.text, line.number) for line in removed)
        for line in added:
            # a name that never means anything else may become known only by later lines
            text = self.naming.in_names_of_a(line, self.reused)
            self.added.append(_Row("+", text, line.number))

    def _changed(self) -> Iterator[_Row]:
        yield from self.removed
        yield from self.added
        self.removed, self.added = [], []


def _common(x: str, y: str) -> int:
    """Return how many characters both begin with."""
    return next((at for at, (c, d) in enumerate(zip(x, y, strict=False)) if c != d), 0)


def _window(text: str, start: int) -> str:
    """Return as much of a long line as is shown, from shortly before the character `start`."""
    if len(text) <= MAX_LINE_CHARS:
        return text
    first = max(0, min(start - MAX_LINE_CHARS // 2, len(text) - MAX_LINE_CHARS))
    last = first + MAX_LINE_CHARS
    before = f"[{first} characters] … " if first else ""
    behind = f" … [{len(text) - last} more characters]" if last < len(text) else ""
    return before + text[first:last] + behind


def _unified(stage: str, rows: Sequence[_Row]) -> tuple[str, bool]:
    """Return the unified diff of `rows`, and whether it was cut at `MAX_DIFF_BYTES`."""
    lines = [f"--- a/{stage}", f"+++ b/{stage}"]
    size = sum(len(line) + 1 for line in lines)
    for first, last in _hunks(rows):
        hunk = rows[first:last]
        of_a = [row.number for row in hunk if row.sign != "+"]
        of_b = [row.number_in_b or row.number for row in hunk if row.sign != "-"]
        span_a, span_b = (f"{(n or [0])[0]},{len(n)}" for n in (of_a, of_b))
        for line in [f"@@ -{span_a} +{span_b} @@", *_written(hunk)]:
            size += len(line.encode(errors="replace")) + 1
            if size > MAX_DIFF_BYTES:
                return "\n".join(lines) + "\n", True
            lines.append(line)
    return "\n".join(lines) + "\n", False


def _written(hunk: Sequence[_Row]) -> Iterator[str]:
    """Yield the lines of `hunk`; of those that are too long what is around the difference."""
    removed = [row.words for row in hunk if row.sign == "-"]
    added = [row.words for row in hunk if row.sign == "+"]
    begins = (
        [_common(x, y) for x, y in zip(removed, added, strict=True)]
        if len(removed) == len(added)
        else [0] * max(len(removed), len(added))
    )
    at = {"-": iter(begins), "+": iter(begins), " ": repeat(0)}
    for row in hunk:
        yield row.sign + _window(row.words, next(at[row.sign]))


def _hunks(rows: Sequence[_Row]) -> Iterator[tuple[int, int]]:
    """Yield the stretches of `rows` that are shown: changes, and the lines around them."""
    start = end = -1
    for index, row in enumerate(rows):
        if row.sign == " ":
            continue
        if start < 0:
            start = max(0, index - CONTEXT_LINES)
        elif index - CONTEXT_LINES > end:
            yield start, end
            start = index - CONTEXT_LINES
        end = min(len(rows), index + 1 + CONTEXT_LINES)
    if start >= 0:
        yield start, end


# Matches names of one text with those of another: one for one, otherwise it is not a renaming.
#
# A text may use a name again for another value, where its language allows it. What was learnt from
# lines that differ anyway is a guess: it gives way to whatever contradicts it.


def _defined_again(lines: Sequence[StageLine]) -> frozenset[str]:
    """Return the names that one function of a text defines more than once."""
    again: set[str] = set()
    known: set[str] = set()
    for line in lines:
        if line.begins_function:
            known = set()
        for name in line.names:
            if name.is_definition:
                (again if name.text in known else known).add(name.text)
    return frozenset(again)


def _results(lines: Sequence[StageLine]) -> list[Name]:
    """Return the name that each line makes, or begins with, the last line's first."""
    results: list[Name] = []
    for line in reversed(lines):
        made = [name for name in line.names if name.is_definition] or line.names[:1]
        results += made[:1]
    return results

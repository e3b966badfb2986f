"""Aligns the equal lines of two texts, in time that grows with their length only.

ADR 0027 compares it with difflib and patiencediff. Lines that both texts have once are found first
(patience); what is left between those is compared exactly as long as a budget lasts (Myers), and
then by pairing equal lines in the order of their occurrence.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_MAX_DEPTH = 8
"""The number of rounds that search between unique lines for further unique ones."""
_MAX_EDITS = 200
"""Limit of one stretch that is compared exactly."""
_STEPS_PER_LINE = 20
_STEPS_AT_LEAST = 100_000

Pair = tuple[int, int]


class Gap(NamedTuple):
    """A stretch of both texts that is not aligned yet: lines `a` to `a_end`, and `b` to `b_end`."""

    a: int
    a_end: int
    b: int
    b_end: int

    @property
    def is_over(self) -> bool:
        """True if one side has nothing to align."""
        return self.a == self.a_end or self.b == self.b_end


class Level(NamedTuple):
    """The numbers that represent the lines of both texts: equal numbers are equal lines."""

    a: Sequence[int]
    b: Sequence[int]


@dataclass(slots=True)
class _Budget:
    """The number of steps that exact comparisons may still take."""

    steps: int


def aligned(levels: Sequence[Level]) -> list[Pair]:
    """Return the lines that belong together, as pairs of indices that grow on both sides.

    `levels` are tried in turn: what the first cannot align is left to the next, so the strictest
    comes first. All are of the same lines.
    """
    size_a, size_b = len(levels[0].a), len(levels[0].b)
    budget = _Budget(_STEPS_AT_LEAST + _STEPS_PER_LINE * (size_a + size_b))
    pairs: list[Pair] = []
    for level in levels:
        for gap in gaps(sorted(pairs), size_a, size_b):
            pairs += _Alignment(level, budget).of(gap)
    return sorted(pairs)


def gaps(pairs: Sequence[Pair], size_a: int, size_b: int) -> list[Gap]:
    """Return the stretches between `pairs`, and before and behind them, that have lines."""
    between, a, b = [], 0, 0
    for next_a, next_b in [*pairs, (size_a, size_b)]:
        if next_a > a or next_b > b:
            between.append(Gap(a, next_a, b, next_b))
        a, b = next_a + 1, next_b + 1
    return between


@dataclass(slots=True)
class _Alignment:
    level: Level
    budget: _Budget
    pairs: list[Pair] = field(default_factory=list)

    def of(self, gap: Gap) -> list[Pair]:
        waiting = [(gap, 0)]
        while waiting:
            current, depth = waiting.pop()
            inner = self._trimmed(current)
            if inner.is_over:
                continue
            anchors = self._unique(inner) if depth < _MAX_DEPTH else []
            if anchors:
                self.pairs += anchors
                waiting += ((part, depth + 1) for part in _within(inner, anchors))
            else:
                self.pairs += self._exact(inner) or self._by_occurrence(inner)
        return self.pairs

    def _trimmed(self, gap: Gap) -> Gap:
        """Align the common beginning and end of both sides; return the rest."""
        a, a_end, b, b_end = gap
        keys_a, keys_b = self.level
        while a < a_end and b < b_end and keys_a[a] == keys_b[b]:
            self.pairs.append((a, b))
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and keys_a[a_end - 1] == keys_b[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
            self.pairs.append((a_end, b_end))
        return Gap(a, a_end, b, b_end)

    def _unique(self, gap: Gap) -> list[Pair]:
        """Return pairs of lines that both sides have once."""
        in_a, in_b = self._occurrences(gap)
        once = {key: places[0] for key, places in in_b.items() if len(places) == 1}
        pairs = [
            (places[0], once[key])
            for key, places in in_a.items()
            if len(places) == 1 and key in once
        ]
        return _growing(pairs)

    def _by_occurrence(self, gap: Gap) -> list[Pair]:
        """Return pairs of equal lines: the first of a kind with the first, and so on."""
        in_a, in_b = self._occurrences(gap)
        pairs = [
            pair
            for key, places in in_a.items()
            if key in in_b
            for pair in zip(places, in_b[key], strict=False)
        ]
        return _growing(sorted(pairs))

    def _occurrences(self, gap: Gap) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        sides: list[dict[int, list[int]]] = []
        for keys, start, end in (
            (self.level.a, gap.a, gap.a_end),
            (self.level.b, gap.b, gap.b_end),
        ):
            places: dict[int, list[int]] = defaultdict(list)
            for index in range(start, end):
                places[keys[index]].append(index)
            sides.append(places)
        return sides[0], sides[1]

    def _exact(self, gap: Gap) -> list[Pair]:
        """Return the longest alignment (Myers), nothing where that takes too many steps."""
        keys_a, keys_b = self.level
        size_a, size_b = gap.a_end - gap.a, gap.b_end - gap.b
        furthest = {1: 0}
        trace: list[dict[int, int]] = []
        for edits in range(min(size_a + size_b, _MAX_EDITS) + 1):
            trace.append(dict(furthest))
            for diagonal in range(-edits, edits + 1, 2):
                x, _ = _start(furthest, diagonal, edits)
                y, begun = x - diagonal, x
                while x < size_a and y < size_b and keys_a[gap.a + x] == keys_b[gap.b + y]:
                    x, y = x + 1, y + 1
                furthest[diagonal] = x
                self.budget.steps -= 1 + x - begun
                if x >= size_a and y >= size_b:
                    return [(gap.a + i, gap.b + j) for i, j in _walked(trace, size_a, size_b)]
            if self.budget.steps < 0:
                break
        return []


def _start(furthest: dict[int, int], diagonal: int, edits: int) -> tuple[int, bool]:
    """Return where `diagonal` is entered, and whether by leaving out a line of the first."""
    below, above = furthest.get(diagonal - 1, -1), furthest.get(diagonal + 1, -1)
    if diagonal == -edits or (diagonal != edits and below < above):
        return above, False
    return below + 1, True


def _walked(trace: Sequence[dict[int, int]], size_a: int, size_b: int) -> Iterator[Pair]:
    """Yield the equal lines on the path in `trace`, backwards."""
    x, y = size_a, size_b
    for edits in range(len(trace) - 1, -1, -1):
        diagonal = x - y
        start_x, is_of_a = _start(trace[edits], diagonal, edits)
        start_y = start_x - diagonal
        while x > max(start_x, 0) and y > max(start_y, 0):
            x, y = x - 1, y - 1
            yield x, y
        x, y = (start_x - 1, start_y) if is_of_a else (start_x, start_y - 1)


def _growing(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the most of `pairs`, whose first grow, of which the second grow too."""
    ends: list[int] = []
    at_end: list[int] = []
    before: list[int] = []
    for index, (_, b) in enumerate(pairs):
        length = bisect_left(ends, b)
        before.append(at_end[length - 1] if length else -1)
        if length == len(ends):
            ends.append(b)
            at_end.append(index)
        else:
            ends[length], at_end[length] = b, index
    longest = []
    index = at_end[-1] if at_end else -1
    while index >= 0:
        longest.append(pairs[index])
        index = before[index]
    return longest[::-1]


def _within(gap: Gap, pairs: Sequence[Pair]) -> Iterator[Gap]:
    """Yield the stretches of `gap` between `pairs` that both sides have lines in."""
    a, b = gap.a, gap.b
    for next_a, next_b in [*pairs, (gap.a_end, gap.b_end)]:
        part = Gap(a, next_a, b, next_b)
        if not part.is_over:
            yield part
        a, b = next_a + 1, next_b + 1

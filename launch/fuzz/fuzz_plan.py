"""Plans the cases of one fuzzing run, and gives reasons for the parts that it does not vary.

A plan depends only on its subject and its seed, so the same seed gives the same cases.
"""

import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from math import prod
from typing import get_args

from launch.fuzz.fuzz_case import (
    FuzzCase,
    NewValues,
    elements_of,
    is_written_small,
    shapes_of,
)
from launch.fuzz.layouts import Layout, LayoutKind, possible_layouts
from launch.fuzz.links import STRIDE, Links, NotCertain, names_of, next_power_of_2
from launch.fuzz.special_values import OVERFLOWING, Pattern, patterns_of, varied_buffers
from launch.fuzz.subject import FuzzedBuffer, Subject
from launch.request.buffer import may_overlap
from launch.request.element import is_floating

MAX_ELEMENTS = 1 << 18
"""Most elements in all buffers of a case together, unless the launch itself has more."""
_PROMISE = re.compile("even|divis|multiple|align|mask|bound|tail|full|exact|pad", re.IGNORECASE)
"""Matches boolean constexprs that may promise that an extent is a multiple of a block."""
_BLOCK = re.compile("block|tile", re.IGNORECASE)
"""Matches constexprs that are block lengths rather than extents."""
_MAX_BLOCKS, _MAX_BLOCK = 3, 1 << 16
_PRIMES = (7, 17, 31, 61, 127, 251, 509, 1021, 2039)


@dataclass(frozen=True, slots=True)
class MovableExtent:
    """An extent that may change; `lengths` lists other values in the order to try them."""

    extent: int
    called: str
    """Its name in reports: mostly that of a scalar."""
    lowest: int
    highest: int
    divisor: int
    lengths: tuple[int, ...]

    def allows(self, length: int) -> bool:
        """Return True if the launch allows this length instead."""
        fits = self.lowest <= length <= self.highest
        return fits and length % self.divisor == 0


def movable_extents(subject: Subject, links: Links) -> tuple[list[MovableExtent], list[str]]:
    """Return the extents that may change, and the reasons why others may not."""
    if not links.extents:
        return [], []
    if subject.tuples:
        tuple_name = f"the tuple {subject.tuples[0]}"
        return [], [f"shapes: they may depend on {tuple_name}, whose items are unnamed"]
    if subject.is_grid_literal:
        literal = (
            "shapes: the grid is a literal and would not follow them; write it as an expression"
        )
        return [], [literal]
    movable, kept = [], []
    for extent in sorted(links.extents, reverse=True):
        if links.is_derived(extent):
            continue
        called = _called(subject, links, extent)
        why_kept = _why_kept(subject, links, extent)
        if why_kept:
            kept.append(f"{called}: {why_kept}")
            continue
        extent_moved = _movable(subject, links, extent, called)
        if extent_moved.lengths:
            movable.append(extent_moved)
        else:
            kept.append(f"{called}: no other length is certain to be valid")
    return movable, kept


def _called(subject: Subject, links: Links, extent: int) -> str:
    scalars = links.scalars_of(extent)
    exact = [name for name in scalars if subject.integers[name] == extent]
    sizes = [name for name in exact if not STRIDE.search(name)]
    if sizes or exact:
        return ", ".join(sizes or exact)
    axes = (each for buffer in subject.buffers.values() for each in names_of(buffer, extent))
    return next(axes, str(extent))


def _why_kept(subject: Subject, links: Links, extent: int) -> str | None:
    """Return why an extent must keep its length, or None if it may change."""
    for name, value in subject.constexprs.items():
        if type(value) is int and value == extent and not _is_said(subject, name, extent):
            return f"it equals the constexpr {name} = {extent} and may depend on it"
    if extent in subject.grid_literals:
        return f"the grid contains the literal {extent}"
    for buffer in subject.buffers.values():
        if extent in buffer.shape and buffer.pinned is not None:
            return buffer.pinned
    named = set(links.scalars_of(extent))
    holders = {name for name, buffer in subject.buffers.items() if extent in buffer.shape}
    if kept := sorted((named | holders) & subject.fixed):
        return f"{kept[0]} is fixed"
    if not named:
        return "no scalar argument gives its length"
    return links.unexplained(extent)


def _is_said(subject: Subject, constexpr: str, extent: int) -> bool:
    """Return True if a scalar gives the extent, which equals this block length only by chance."""
    if not _BLOCK.search(constexpr):
        return False
    integers = subject.integers.items()
    is_scalar = any(value == extent and not STRIDE.search(name) for name, value in integers)
    return is_scalar and all(each.shape.count(extent) < 2 for each in subject.buffers.values())


def _movable(subject: Subject, links: Links, extent: int, called: str) -> MovableExtent:
    divisor = math.lcm(links.divisor(extent), _promised(subject, extent))
    lowest, highest = _lowest(subject, links, extent), _highest(subject, links, extent)
    movable = MovableExtent(extent, called, lowest, highest, divisor, ())
    lengths = dict.fromkeys(
        length
        for wanted in _edges(subject, links, extent)
        for length in (wanted, wanted + -wanted % divisor)
        if length != extent and movable.allows(length)
    )
    return MovableExtent(extent, called, lowest, highest, divisor, tuple(lengths))


def _promised(subject: Subject, extent: int) -> int:
    """Return the divisor that a boolean constexpr may promise for an extent; 1 without one."""
    constexprs = subject.constexprs.items()
    if not any(isinstance(value, bool) and _PROMISE.search(name) for name, value in constexprs):
        return 1
    return math.lcm(*(block for block in subject.blocks.values() if extent % block == 0))


def _lowest(subject: Subject, links: Links, extent: int) -> int:
    """Return the least length at which random indices still point inside the buffer."""
    ends = [
        int(buffer.init["high"])
        for buffer in subject.buffers.values()
        if buffer.is_index_like and buffer.init and buffer.init["kind"] == "randint"
        if buffer.init["low"] >= 0 and not links.is_explained(int(buffer.init["high"]))
    ]
    return max([1, *(min(end, extent) for end in ends)])


def _highest(subject: Subject, links: Links, extent: int) -> int:
    """Return the greatest length.

    A kernel whose grid does not grow with an extent may hold all of it in one block, so the
    extent must not outgrow that block.
    """
    if any(each.is_index_like and _counts(each.init) for each in subject.buffers.values()):
        return extent
    sizes = [name for name in links.scalars_of(extent) if not STRIDE.search(name)]
    if sizes and all(name in subject.grid.names for name in sizes):
        return max(extent, MAX_ELEMENTS)
    blocks = [block for block in subject.blocks.values() if block >= extent]
    return min([next_power_of_2(extent), *blocks])


def _counts(init: object) -> bool:
    return isinstance(init, dict) and init["kind"] == "arange"


def _edges(subject: Subject, links: Links, extent: int) -> Iterator[int]:
    """Yield lengths around block edges, the ones most likely to find faults first."""
    blocks = _blocks(subject, links, extent)
    for around in (lambda b: b + 1, lambda b: b - 1, lambda b: 2 * b + 3, lambda b: b):
        yield from map(around, blocks)
    yield from (1, extent - 1, extent + 1)
    for block in blocks:
        yield from (3 * block, block + 16, block // 2 + 1)
    yield from (prime for prime in _PRIMES if prime < max([64, *(3 * block for block in blocks)]))
    yield from (2, 3, 16, extent // 2 + 1, extent // 2, 48)


def _blocks(subject: Subject, links: Links, extent: int) -> list[int]:
    """Return the block lengths that may divide an extent, those in its grid first."""
    scalars = set(links.scalars_of(extent))
    in_grid: set[str] = set()
    if scalars & subject.grid.names:
        in_grid = set(subject.grid.names)
    named = sorted(subject.blocks.items(), key=lambda item: (item[0] not in in_grid, item[1]))
    written = sorted(subject.grid_literals) if in_grid else []
    lengths = dict.fromkeys([*written, *(value for _, value in named)])
    return [length for length in lengths if length <= _MAX_BLOCK][:_MAX_BLOCKS]


_SEED_BITS = 48
_ORDINARY, _SHORT = 1100, 20
"""Greatest length in cases that vary something else, and in cases that list their values."""
_SHARE_OF_VALUES, _SHARE_OF_LAYOUTS = 0.6, 0.25
"""Probability that a mixed case changes a buffer's values, and that it changes a layout."""
MAX_ARGUMENTS = 64
"""Above this, shapes and layouts stay: the links compare every number with every other."""
_MAX_TRIED = 400
"""Most candidates to look at: strict hints reject nearly all of them."""


@dataclass(frozen=True, slots=True)
class FuzzPlan:
    """The parts of a subject that may vary, and everything that determines its cases."""

    subject: Subject
    links: Links
    extents: Sequence[MovableExtent]
    buffers: Sequence[FuzzedBuffer]
    layouts: Sequence[Layout]
    not_varied: Sequence[str]
    seed: int

    @property
    def varies(self) -> bool:
        """True if there is anything to vary."""
        return bool(self.extents or self.buffers or self.layouts)

    @property
    def most_elements(self) -> int:
        """Most elements in all buffers of a case together."""
        return max(MAX_ELEMENTS, sum(prod(each.shape) for each in self.subject.buffers.values()))

    @property
    def measure(self) -> FuzzCase:
        """The case that measures the launch against its reference in float64.

        A small launch is measured unchanged.
        """
        few = sum(prod(each.shape) for each in self.subject.buffers.values()) <= MAX_ELEMENTS
        return FuzzCase() if few else FuzzCase(extents=self._ordinary())

    def cases(self) -> Iterator[FuzzCase]:
        """Yield distinct cases, the ones most likely to find faults first.

        A request may not be able to express some of them; the runner skips those.
        """
        source = random.Random(self.seed)
        seen = {FuzzCase()}
        streams = [self._of_shapes(source), self._of_values(source), self._of_layouts()]
        mixed = self._mixed(source)
        ordered = chain.from_iterable(zip_longest(*streams))
        for number, case in enumerate(chain(ordered, mixed)):
            if number >= _MAX_TRIED:
                return
            if case is not None and case not in seen and self.fits(case):
                seen.add(case)
                yield case

    def fits(self, case: FuzzCase) -> bool:
        """Return True if a case stays within all limits and all its numbers are certain."""
        try:
            shapes = shapes_of(case, self.subject, self.links)
            few = elements_of(case, self.subject, self.links) <= self.most_elements
            small = is_written_small(case, self.subject, self.links)
        except NotCertain:
            return False
        strided = (each for each in self.subject.buffers.values() if not each.is_contiguous)
        overlaps = any(may_overlap(shapes[each.name], each.strides) for each in strided)
        return few and small and not overlaps

    def _of_shapes(self, source: random.Random) -> Iterator[FuzzCase]:
        """Yield new lengths for one extent at a time, then for all of them at once."""
        single = [
            [FuzzCase(extents=((each.extent, length),)) for length in each.lengths]
            for each in self.extents
        ]
        yield from (case for cases in zip_longest(*single) for case in cases if case is not None)
        if len(self.extents) > 1:
            for _ in range(_MAX_TRIED):
                yield FuzzCase(extents=self._lengths(source))

    def _lengths(self, source: random.Random) -> tuple[tuple[int, int], ...]:
        return tuple((each.extent, source.choice(each.lengths)) for each in self.extents)

    def _of_values(self, source: random.Random) -> Iterator[FuzzCase]:
        """Yield each pattern in all inputs, then in one alone, at an ordinary length."""
        extents, short = self._ordinary(), self._up_to(_SHORT)
        possible = [(buffer, self._patterns(buffer)) for buffer in self.buffers]
        patterns = dict.fromkeys(chain.from_iterable(known for _, known in possible))
        for pattern in sorted(patterns, key=get_args(Pattern).index):
            having = [buffer for buffer, known in possible if pattern in known]
            if pattern in OVERFLOWING and len(having) < len(self._floats()):
                continue  # mixed with overflowing inputs, ordinary ones are not conclusive
            for chosen in [having] if pattern in OVERFLOWING else self._choices(having, source):
                values = tuple(_new(buffer, pattern, source) for buffer in chosen)
                case = FuzzCase(extents=extents, values=values)
                yield case if self.fits(case) else FuzzCase(extents=short, values=values)

    def _choices(
        self, buffers: list[FuzzedBuffer], source: random.Random
    ) -> Iterator[list[FuzzedBuffer]]:
        """Yield all buffers together, then one of them alone."""
        yield buffers
        if len(buffers) > 1:
            yield [source.choice(buffers)]

    def _patterns(self, buffer: FuzzedBuffer) -> list[Pattern]:
        """Return the patterns that fit a buffer at some length."""
        elements = min(prod(buffer.shape), 1) if self.extents else prod(buffer.shape)
        return patterns_of(buffer, self.subject, elements)

    def _ordinary_patterns(self, buffer: FuzzedBuffer) -> list[Pattern]:
        return [each for each in self._patterns(buffer) if each not in OVERFLOWING]

    def _floats(self) -> list[FuzzedBuffer]:
        """Return the floating-point inputs, including those whose values stay."""
        inputs = (each for each in self.subject.buffers.values() if each.is_input)
        return [each for each in inputs if is_floating(each.dtype)]

    def _ordinary(self) -> tuple[tuple[int, int], ...]:
        """Return shorter lengths for extents that are longer than a few blocks."""
        return tuple(pair for pair in self._up_to(_ORDINARY) if pair[0] > pair[1])

    def _up_to(self, most: int) -> tuple[tuple[int, int], ...]:
        """Return each extent with its longest length up to `most`, or else its shortest length."""
        return tuple(
            (each.extent, max((n for n in each.lengths if n <= most), default=min(each.lengths)))
            for each in self.extents
        )

    def _of_layouts(self) -> Iterator[FuzzCase]:
        """Yield each kind in all buffers at once, then new strides in one buffer alone.

        Alignment is compiled in, so few combinations of misaligned buffers are tried.
        """
        for kind, every in self._kinds():
            yield FuzzCase(extents=self._ordinary(), layouts=every)
            for layout in every if kind != "shifted" else ():
                yield FuzzCase(extents=self._ordinary(), layouts=(layout,))

    def _kinds(self) -> list[tuple[LayoutKind, tuple[Layout, ...]]]:
        kinds = sorted({layout.kind for layout in self.layouts})
        return [
            (kind, tuple(layout for layout in self.layouts if layout.kind == kind))
            for kind in kinds
        ]

    def _mixed(self, source: random.Random) -> Iterator[FuzzCase]:
        """Yield cases that change several things at once, without end."""
        while self.extents or self.buffers or self.layouts:
            extents = self._lengths(source) if self.extents else ()
            values = tuple(
                _new(buffer, source.choice(patterns), source)
                for buffer in self.buffers
                if (patterns := self._ordinary_patterns(buffer))
                and source.random() < _SHARE_OF_VALUES
            )
            chosen = [every for _, every in self._kinds() if source.random() < _SHARE_OF_LAYOUTS]
            yield FuzzCase(extents, values, tuple(chain.from_iterable(chosen)))


def _new(buffer: FuzzedBuffer, pattern: Pattern, source: random.Random) -> NewValues:
    return NewValues(buffer.name, pattern, source.getrandbits(_SEED_BITS))


def plan_of(subject: Subject, seed: int) -> FuzzPlan:
    """Return the plan for a subject: the parts that may vary, and reasons for the rest."""
    links = Links(subject)
    buffers, kept_buffers = varied_buffers(subject)
    if len(subject.arguments) > MAX_ARGUMENTS:
        why = f"shapes and layouts: there are more than {MAX_ARGUMENTS} arguments"
        return FuzzPlan(subject, links, [], buffers, [], [why, *kept_buffers], seed)
    extents, kept_extents = movable_extents(subject, links)
    layouts, kept_layouts = possible_layouts(subject)
    not_varied = [*kept_extents, *kept_buffers, *kept_layouts, *_free_scalars(subject, links)]
    return FuzzPlan(subject, links, extents, buffers, layouts, not_varied, seed)


def _free_scalars(subject: Subject, links: Links) -> Iterator[str]:
    """Yield the scalars whose meaning is unknown, and why they keep their values."""
    free = [name for name in subject.floats if not links.is_linked(name)]
    free += [name for name, value in subject.integers.items() if not links.is_explained(value)]
    if free:
        yield f"{', '.join(free)}: no other values are known to be valid"

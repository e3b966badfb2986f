"""Finds the extents of a launch that may change, their bounds, and the lengths worth trying."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from launch.fuzz.links import STRIDE, Links, names_of, next_power_of_2
from launch.fuzz.subject import Subject

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
        said = f"the tuple {subject.tuples[0]}"
        return [], [f"shapes: they may depend on {said}, whose items are unnamed"]
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
        found = _movable(subject, links, extent, called)
        if found.lengths:
            movable.append(found)
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
    said = any(value == extent and not STRIDE.search(name) for name, value in integers)
    return said and all(each.shape.count(extent) < 2 for each in subject.buffers.values())


def _movable(subject: Subject, links: Links, extent: int, called: str) -> MovableExtent:
    divisor = math.lcm(links.divisor(extent), _promised(subject, extent))
    lowest, highest = _lowest(subject, links, extent), _highest(subject, links, extent)
    found = MovableExtent(extent, called, lowest, highest, divisor, ())
    lengths = dict.fromkeys(
        length
        for wanted in _edges(subject, links, extent)
        for length in (wanted, wanted + -wanted % divisor)
        if length != extent and found.allows(length)
    )
    return MovableExtent(extent, called, lowest, highest, divisor, tuple(lengths))


def _promised(subject: Subject, extent: int) -> int:
    """Return the divisor that a boolean constexpr may promise for an extent; 1 without one."""
    found = subject.constexprs.items()
    if not any(isinstance(value, bool) and _PROMISE.search(name) for name, value in found):
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
    beside: set[str] = set()
    if scalars & subject.grid.names:
        beside = set(subject.grid.names)
    named = sorted(subject.blocks.items(), key=lambda item: (item[0] not in beside, item[1]))
    written = sorted(subject.grid_literals) if beside else []
    lengths = dict.fromkeys([*written, *(value for _, value in named)])
    return [length for length in lengths if length <= _MAX_BLOCK][:_MAX_BLOCKS]

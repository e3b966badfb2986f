"""Draws random elements on several threads, with the same bits as one thread.

`normal` and `integers` reject some draws, so the offset of an element in the stream depends on all
elements before it. Most elements take one draw, so a thread that starts at the wrong offset soon
synchronises with the right sequence.

Each thread starts at a separate offset and records where its first elements begin. The thread
before it continues past that offset. If it stops where one of these elements begins, both would
draw the same elements from there on. If not, one thread draws everything.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from launch.buffers.element_types import Array, cast

DRAWS_A_STEP = 4
"""64-bit draws in one step of `Philox.advance`."""
_HALVES = 2 * DRAWS_A_STEP
_SINGLE = 12
"""Elements at the start of a stretch to draw one by one, which gives the offset of each.

One in 50 normal elements takes more than one draw, so threads synchronise within this many."""
_SURE_PART = 0.9
"""Fraction of the rest of a stretch to draw at once without passing its end."""
_SAMPLE = 4096

Draw = Callable[[int], Array]
"""Draws the next elements in full width."""
DrawFrom = Callable[[np.random.Philox], Draw]


@dataclass(slots=True)
class _Stretch:
    """The elements that one thread draws from `begin` to `end`, in units of half a draw."""

    begin: int
    end: int
    rate: float
    dtype: str
    piece: int
    source: np.random.Philox
    draw: Draw
    parts: list[Array]
    places: dict[int, int]
    """Number of elements before each of the first offsets."""

    def make(self) -> None:
        """Draw elements until the next would begin at `end` or later."""
        for made in range(_SINGLE):
            self.places[place_of(self.source)] = made
            self._add(1)
        while (left := self.end - place_of(self.source)) > 0:
            count = int(_SURE_PART * left / self.rate)
            self._add(min(self.piece, count) if count > _SINGLE else 1)

    def _add(self, count: int) -> None:
        self.parts.append(cast(self.draw(count), self.dtype))


def fill_on_threads(
    made: Array, source_of: Callable[[], np.random.Philox], draw_from: DrawFrom, dtype: str,
    threads: int, piece: int,
) -> bool:  # fmt: skip
    """Fill `made` as one call of `draw_from(source_of())` would.

    Return False if threads did not synchronise; then the caller must make that one call. Raises
    RuntimeError if no thread can start.
    """
    rate = _halves_an_element(source_of, draw_from)
    if rate <= 0:
        return False
    length = max(1, int(made.size * rate / threads) // _HALVES) * _HALVES
    stretches = [
        _stretch(source_of, draw_from, range(start, start + length), rate, dtype, piece)
        for start in range(0, length * threads, length)
    ]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(_Stretch.make, stretches))
        firsts = _firsts(stretches)
        return firsts is not None and _join(made, stretches, firsts, pool)


def place_of(source: np.random.Philox) -> int:
    """Return the offset of a source in its stream, in units of half a draw."""
    state: Any = source.state
    low, high = (int(word) for word in state["state"]["counter"][:2])
    draws = DRAWS_A_STEP * ((high << 64 | low) - 1) + int(state["buffer_pos"])
    return 2 * draws - int(state["has_uint32"])


def _halves_an_element(source_of: Callable[[], np.random.Philox], draw_from: DrawFrom) -> float:
    source = source_of()
    draw_from(source)(_SAMPLE)
    return place_of(source) / _SAMPLE


def _stretch(
    source_of: Callable[[], np.random.Philox], draw_from: DrawFrom, halves: range, rate: float,
    dtype: str, piece: int,
) -> _Stretch:  # fmt: skip
    source = source_of()
    if halves.start:
        source.advance(halves.start // _HALVES)
    draw = draw_from(source)
    return _Stretch(halves.start, halves.stop, rate, dtype, piece, source, draw, [], {})


def _firsts(stretches: list[_Stretch]) -> list[int] | None:
    """Return the first valid element of each stretch; None if two did not synchronise."""
    firsts = [0]
    for one, following in pairwise(stretches):
        first = following.places.get(place_of(one.source))
        if first is None:
            return None
        firsts.append(first)
    return firsts


def _join(
    made: Array, stretches: list[_Stretch], firsts: list[int], pool: ThreadPoolExecutor
) -> bool:
    """Copy all stretches into `made`; draw the rest after the end of the last one."""
    starts, at = [], 0
    for one, first in zip(stretches, firsts, strict=True):
        starts.append(at - first)
        at += sum(part.size for part in one.parts) - first

    def copy(stretch: _Stretch, start: int, first: int) -> None:
        for part in stretch.parts:
            kept = part[max(0, first) : max(0, made.size - start)]
            made[start + max(0, first) : start + max(0, first) + kept.size] = kept
            start, first = start + part.size, first - part.size

    list(pool.map(copy, stretches, starts, firsts))
    last = stretches[-1]
    while at < made.size:
        rest = cast(last.draw(min(last.piece, made.size - at)), last.dtype)
        made[at : at + rest.size] = rest
        at += rest.size
    return True

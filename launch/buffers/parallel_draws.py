"""Random elements that take no fixed number of draws, on several threads, bit for bit the same.

`normal` and `integers` throw draws away, by what they are: where in the stream an element begins
depends on all before it. But whoever begins at the wrong draw falls into step after a few, as most
elements take one. So each thread begins at a draw of its own and notes where its first elements
begin; the thread before goes on until it is past that draw, and where it stops must be one of these
places: from there on both would make the same. Where it is none, one thread makes all.
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
"""Of 64 bits, the unit of `Philox.advance`."""
_HALVES = 2 * DRAWS_A_STEP
_SINGLE = 12
"""Elements at the begin of a stretch that are made one by one, so that it is known where each is.

Of normal ones, one in 50 takes more draws than one: so many later, all are in step."""
_SURE_PART = 0.9
"""Share of the rest of a stretch that can be made at once without running past its end."""
_SAMPLE = 4096

Draw = Callable[[int], Array]
"""Makes the next elements in full width."""
DrawFrom = Callable[[np.random.Philox], Draw]


@dataclass(slots=True)
class _Stretch:
    """The elements that one thread makes of the draws from `begin` to `end`, in half draws."""

    begin: int
    end: int
    rate: float
    dtype: str
    piece: int
    source: np.random.Philox
    draw: Draw
    parts: list[Array]
    places: dict[int, int]
    """The offsets of its first elements, and the number of elements before each."""

    def make(self) -> None:
        """Make elements until the next would begin at `end` or behind."""
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
    """Fill `made` as `draw_from(source_of())` would in one go. False: it must be done so.

    Raises RuntimeError where no thread may be started.
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
    """Return how much of its stream a source has given out, in halves of draws."""
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
    """Return which element of each is the first that counts; None where two are out of step."""
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
    """Copy all stretches to their places; make the rest after the end of the last one."""
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

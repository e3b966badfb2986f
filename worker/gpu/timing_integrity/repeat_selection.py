"""Selects the timed runs to compare with the reference: some at random, and the worst ones.

All of many runs cannot be sent. Chance is asked when a run is over, so nothing that a kernel does
can depend on it. Pure.
"""

from collections.abc import Callable
from random import Random

from worker.gpu.timing_integrity.timed_repeat import TimedRepeat

DRAWN = 3
FARTHEST = 3
PLACES = DRAWN + FARTHEST
"""Where what the chosen runs left is kept: so many at a time."""


class RepeatSelection:
    """Chooses among runs that are offered one after the other."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._offered = 0
        self._places: list[TimedRepeat | None] = [None] * PLACES

    def offer(self, repeat: TimedRepeat) -> list[int]:
        """Return the places that the run takes, instead of others that were chosen before it."""
        places = [*self._by_chance(), *self._among_farthest(repeat)]
        for place in places:
            self._places[place] = repeat
        return places

    @property
    def chosen(self) -> dict[int, TimedRepeat]:
        """The chosen runs by place, none of them twice, those drawn by chance first."""
        found: dict[int, TimedRepeat] = {}
        known: set[int] = set()
        for place, repeat in enumerate(self._places):
            if repeat is not None and repeat.repeat not in known:
                known.add(repeat.repeat)
                found[place] = repeat
        return found

    def _by_chance(self) -> list[int]:
        """Return a place so that each run is drawn with the same probability in the end."""
        place = self._offered
        if place >= DRAWN:
            place = self._chance.randrange(self._offered + 1)
        self._offered += 1
        return [place] if place < DRAWN else []

    def _among_farthest(self, repeat: TimedRepeat) -> list[int]:
        for place, weight in zip(range(DRAWN, PLACES), _WEIGHTS, strict=True):
            holder = self._places[place]
            if weight(repeat) > (weight(holder) if holder is not None else _NOTHING):
                return [place]
        return []


_Weight = tuple[int, int, int]
_NOTHING: _Weight = (0, 0, 0)


def _left(repeat: TimedRepeat) -> _Weight:
    return repeat.left_bytes, int(repeat.equals_first), repeat.differing_bytes


def _repeating(repeat: TimedRepeat) -> _Weight:
    return int(repeat.equals_first), repeat.left_bytes, repeat.differing_bytes


def _differing(repeat: TimedRepeat) -> _Weight:
    return repeat.differing_bytes, repeat.left_bytes, int(repeat.equals_first)


_WEIGHTS: tuple[Callable[[TimedRepeat], _Weight], ...] = (_left, _repeating, _differing)
"""By which a run takes each of the places: many of one kind must not keep another kind out."""

"""Selects the timed runs to compare with the reference: some at random, and the worst ones.

All of many runs cannot be sent. Chance is asked when a run is over, so nothing that a kernel does
can depend on it. Pure.
"""

from collections.abc import Callable
from random import Random

from worker.gpu.timing_integrity.timed_iteration import TimedIteration

DRAWN = 3
FARTHEST = 3
PLACES = DRAWN + FARTHEST
"""The number of chosen runs whose outputs are kept at a time."""


class IterationSelection:
    """Chooses among runs that are offered one after the other."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._offered = 0
        self._places: list[TimedIteration | None] = [None] * PLACES

    def offer(self, iteration: TimedIteration) -> list[int]:
        """Return the places that the run takes, instead of others that were chosen before it."""
        places = [*self._by_chance(), *self._among_farthest(iteration)]
        for place in places:
            self._places[place] = iteration
        return places

    @property
    def chosen(self) -> dict[int, TimedIteration]:
        """The chosen runs by place, none of them twice, those drawn by chance first."""
        iterations: dict[int, TimedIteration] = {}
        known: set[int] = set()
        for place, iteration in enumerate(self._places):
            if iteration is not None and iteration.repeat not in known:
                known.add(iteration.repeat)
                iterations[place] = iteration
        return iterations

    def _by_chance(self) -> list[int]:
        """Return a place so that each run is drawn with the same probability in the end."""
        place = self._offered
        if place >= DRAWN:
            place = self._chance.randrange(self._offered + 1)
        self._offered += 1
        return [place] if place < DRAWN else []

    def _among_farthest(self, iteration: TimedIteration) -> list[int]:
        for place, weight in zip(range(DRAWN, PLACES), _WEIGHTS, strict=True):
            holder = self._places[place]
            if weight(iteration) > (weight(holder) if holder is not None else _NOTHING):
                return [place]
        return []


_Weight = tuple[int, int, int]
_NOTHING: _Weight = (0, 0, 0)


def _left(iteration: TimedIteration) -> _Weight:
    return iteration.left_bytes, int(iteration.equals_first), iteration.differing_bytes


def _repeating(iteration: TimedIteration) -> _Weight:
    return int(iteration.equals_first), iteration.left_bytes, iteration.differing_bytes


def _differing(iteration: TimedIteration) -> _Weight:
    return iteration.differing_bytes, iteration.left_bytes, int(iteration.equals_first)


_WEIGHTS: tuple[Callable[[TimedIteration], _Weight], ...] = (_left, _repeating, _differing)
"""The weights by which a run takes each place: runs of one kind must not crowd out another kind."""

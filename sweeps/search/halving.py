"""One cut of successive halving: who goes on to the next round, and who does not, and why.

After Jamieson and Talwalkar (Non-stochastic Best Arm Identification, 2016), but for intervals: a
variant that may be as fast as the last that goes on is timed again, as long as that could tell.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sweeps.search.measurement import MeasuredTime
from sweeps.search.pruned import Pruned, Reason

MOST_ITERATIONS = 1000
"""The limit of one timing: its median is then known better than launches repeat."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Variants that advance, fastest first, and the reasons for dropping the others."""

    kept: tuple[int, ...]
    dropped: Mapping[int, Pruned]


def ranked(times: Mapping[int, MeasuredTime]) -> list[int]:
    """Return the variants, fastest first; of equal times the one that was named first."""
    return sorted(times, key=lambda index: (times[index].median_us, index))


def next_round(
    times: Mapping[int, MeasuredTime], keep: float, finalists: int, stage: str, *, is_last: bool
) -> Cut:
    """Return who is timed again: that share of more variants than there may be finalists.

    Those beyond go on, too, where their intervals reach the last one that does and more repeats may
    tell the two apart; not where the next round has no more repeats than this one (`is_last`).
    """
    order = ranked(times)
    count = max(finalists, min(len(order) - 1, math.ceil(keep * len(order))))
    last = times[order[count - 1]]
    beyond = [
        index
        for index in order[count:]
        if times[index].low_us <= last.high_us and not (is_last or _is_settled(times[index]))
    ]
    kept = (*order[:count], *beyond)
    return Cut(kept, _slower(times, kept, last, stage))


def final_cut(times: Mapping[int, MeasuredTime], finalists: int, stage: str) -> Cut:
    """Return who is timed side by side: the fastest, and those who may be as fast as the first.

    As many again at most.
    """
    order = ranked(times)
    fastest = times[order[0]]
    others = [index for index in order[finalists:] if times[index].low_us <= fastest.high_us]
    kept = (*order[:finalists], *others[:finalists])
    return Cut(kept, _slower(times, kept, times[kept[-1]], stage))


def _is_settled(time: MeasuredTime) -> bool:
    """Return whether more repeats would tell nothing more of it."""
    return not time.noisy or time.repeats >= MOST_ITERATIONS


def _slower(
    times: Mapping[int, MeasuredTime], kept: tuple[int, ...], last: MeasuredTime, stage: str
) -> dict[int, Pruned]:
    return {
        index: Pruned(reason=Reason.SLOWER, detail=_detail(time, last, len(kept), stage))
        for index, time in times.items()
        if index not in kept
    }


def _detail(time: MeasuredTime, last: MeasuredTime, count: int, stage: str) -> str:
    text = f"{stage}: {time.shown()}, where the slowest of the {count} that went on takes "
    text += last.shown()
    if time.low_us <= last.high_us:
        text += "; the two may be equally fast, but more repeats would not tell"
    return text

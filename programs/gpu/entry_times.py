"""Divides the time of a call among its ops. Pure; times are in microseconds.

Each op is timed between two marks, in separate runs from those of the whole call. A mark takes time
itself. That follows from the difference between the sum of all ops and the whole call.
"""

from collections.abc import Sequence
from statistics import median

MAX_MARKER_US = 3.0
"""The most that a mark was ever measured to add; more has another cause."""


def entry_medians(passes: Sequence[Sequence[float]]) -> list[float]:
    """Return the median of each op's times, over at least one pass."""
    return [median(times) for times in zip(*passes, strict=True)]


def marker_us(entries_us: Sequence[float], whole_us: float) -> float:
    """Return the time that a mark adds to each op, given the time of the whole call."""
    if not entries_us:
        return 0.0
    return min(max(0.0, (sum(entries_us) - whole_us) / len(entries_us)), MAX_MARKER_US)


def without_markers(entries_us: Sequence[float], whole_us: float) -> list[float]:
    """Return the ops' times without the marks' time, none below zero.

    What is cut off at zero is taken from the others, so that the sum stays.
    """
    excess = marker_us(entries_us, whole_us) * len(entries_us)
    left = list(entries_us)
    waiting = sorted(range(len(left)), key=lambda at: left[at])
    for number, at in enumerate(waiting):
        share = min(left[at], excess / (len(waiting) - number))
        left[at] -= share
        excess -= share
    return left

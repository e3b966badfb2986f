"""How the time of a call divides among its ops. Pure; microseconds.

Each op is timed between two marks of the GPU in runs apart from those that are timed as a whole. A
mark takes time itself, which is told by how much longer all ops together are than the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

MOST_MARKER_US = 3.0
"""What one mark was ever seen to add; more than that is something else."""


def entry_medians(passes: Sequence[Sequence[float]]) -> list[float]:
    """Return the median of each op's times, of at least one pass over all ops."""
    return [median(times) for times in zip(*passes, strict=True)]


def marker_us(entries_us: Sequence[float], whole_us: float) -> float:
    """Return what a mark adds to each op, where the whole takes so long without them."""
    if not entries_us:
        return 0.0
    return min(max(0.0, (sum(entries_us) - whole_us) / len(entries_us)), MOST_MARKER_US)


def without_markers(entries_us: Sequence[float], whole_us: float) -> list[float]:
    """Return the ops' times less what the marks add to them, none below zero.

    What is cut off at zero is taken from the others, so that they still sum to what they are of.
    """
    excess = marker_us(entries_us, whole_us) * len(entries_us)
    left = list(entries_us)
    waiting = sorted(range(len(left)), key=lambda at: left[at])
    for number, at in enumerate(waiting):
        share = min(left[at], excess / (len(waiting) - number))
        left[at] -= share
        excess -= share
    return left

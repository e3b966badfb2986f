"""The lead of one variant over another, from times taken in turn.

A GPU's clock and heat change while a search goes on, so that times of different minutes compare two
clocks. In each pass all finalists are timed one after the other: what changes slowly meets them
alike, and the ratio of two within one pass is theirs alone.
"""

import math
import statistics
from collections.abc import Sequence

from pydantic import Field

from compiler.compilation import Record
from sweeps.search.measurement import MeasuredTime

_STUDENT_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
              2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093)  # fmt: skip
"""Two-sided, at 95 %, for 1 to 19 degrees of freedom: two to twenty passes."""


class Lead(Record):
    """The extra time of the second relative to the winner."""

    over: int = Field(description="the index of the second fastest variant that may win")
    percent: float
    interval_percent: tuple[float, float] = Field(
        description="at 95 %: by the passes that both were timed in, or by their two intervals"
    )
    clear: bool = Field(
        description="false: the interval reaches 0, so the second may be as fast as the winner"
    )
    passes: int = Field(
        description="in which both were timed in turn; 0: they were timed on their own only"
    )


def geometric_mean(medians: Sequence[float]) -> float:
    """Return the geometric mean of a variant's medians: the lead is a mean of ratios, too."""
    return math.exp(statistics.fmean(_log(median) for median in medians))


def lead_in_turn(over: int, winner: Sequence[float], second: Sequence[float]) -> Lead:
    """Return the lead by the medians of the same passes, two or more."""
    ratios = [_log(b) - _log(a) for a, b in zip(winner, second, strict=True)]
    count = len(ratios)
    mean = statistics.fmean(ratios)
    error = _STUDENT_T[count - 2] * statistics.stdev(ratios) / math.sqrt(count)
    return _lead(over, mean, (mean - error, mean + error), count)


def lead_apart(over: int, winner: MeasuredTime, second: MeasuredTime) -> Lead:
    """Return the lead by two times that were not taken in turn: by both intervals' ends."""
    low = _log(second.low_us) - _log(winner.high_us)
    high = _log(second.high_us) - _log(winner.low_us)
    return _lead(over, _log(second.median_us) - _log(winner.median_us), (low, high), 0)


_SHORTEST_US = 1e-3  # what answers show of a time ends there, and a time of zero has no ratio


def _log(time_us: float) -> float:
    return math.log(max(time_us, _SHORTEST_US))


def _lead(over: int, ratio_log: float, ends: tuple[float, float], passes: int) -> Lead:
    low, high = (_percent(end) for end in ends)
    return Lead(
        over=over,
        percent=_percent(ratio_log),
        interval_percent=(low, high),
        clear=low > 0,
        passes=passes,
    )


_MOST_LOG = 20.0


def _percent(log_ratio: float) -> float:
    return round(100 * math.expm1(max(-_MOST_LOG, min(_MOST_LOG, log_ratio))), 2)

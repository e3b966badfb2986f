"""Statistics of a kernel's timings, and when there are enough. Pure; in microseconds.

The middle of a sample is known by its order statistics: of n sorted timings, those of ranks
(n - z sqrt(n)) / 2 and (n + z sqrt(n)) / 2 + 1 are around the median of all timings there could be
in 95 of 100 samples for z = 1.96, whatever their distribution is (Conover, Practical Nonparametric
Statistics, 3.2). That is the error of one run. Two runs of one request differ by the errors of
both, and by conditions that stay the same within a run: the clock, where memory is, steps of the
events.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

EVENT_RESOLUTION_US = 0.5
"""The resolution of the time between two events, as CUDA documents it (cuEventElapsedTime)."""
ENOUGH_RELATIVE_ERROR = 0.005
"""The error of the median, on either side, at which more repeats are not worth their time."""
NOISY_SPREAD = 0.1
"""The limit of (p80 - p20) / median."""
_NOISY_RELATIVE_ERROR = 0.01
_Z = 1.96
_RUN_TO_RUN_RELATIVE = 0.035
_RUN_TO_RUN_US = 1.0
"""Observed differences between medians of two long runs on an H200 (docs/adr/0018).

Large kernels differ by a share of their time, small ones by a microsecond.
"""


@dataclass(frozen=True, slots=True)
class Statistics:
    """The summary that an answer shows."""

    median_us: float
    interval_us: tuple[float, float]
    """Around the median: another run of the same has its own within it in 19 of 20 tries."""
    mean_us: float
    min_us: float
    p20_us: float
    p80_us: float
    std_us: float
    repeats: int
    noisy: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, times to a nanosecond."""
        return {name: _rounded(getattr(self, name)) for name in self.__slots__}


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return [round(number, 3) for number in value]
    return round(value, 3) if isinstance(value, float) else value


def median_error(ordered: Sequence[float]) -> float:
    """Return how far the median may be off for want of more samples; infinite for fewer than 8.

    It is the larger side of its interval of 95 %. Samples are in order.
    """
    low, high = _median_bounds(ordered)
    median = _quantile(ordered, 0.5)
    return max(median - low, high - median)


def enough_error(ordered: Sequence[float]) -> float:
    """Return the error of the median that is small enough: 0.5 %, or what events resolve."""
    median = _quantile(ordered, 0.5)
    return max(ENOUGH_RELATIVE_ERROR * median, EVENT_RESOLUTION_US / 2)


def summarise(samples_us: Sequence[float], wanted: int = 1) -> Statistics:
    """Return the statistics of at least one timing, where `wanted` were asked for.

    Noisy: there are fewer, or the median is not known to 1 %, or to what events resolve, or the
    middle of the samples is wide.
    """
    ordered = sorted(samples_us)
    mean = math.fsum(ordered) / len(ordered)
    median, p20, p80 = (_quantile(ordered, part) for part in (0.5, 0.2, 0.8))
    spread = (p80 - p20) / median if median > 0 else 0.0
    known = max(_NOISY_RELATIVE_ERROR * median, EVENT_RESOLUTION_US / 2)
    return Statistics(
        median_us=median,
        interval_us=_interval(ordered, median),
        mean_us=mean,
        min_us=ordered[0],
        p20_us=p20,
        p80_us=p80,
        std_us=_std(ordered, mean),
        repeats=len(ordered),
        noisy=len(ordered) < wanted or spread > NOISY_SPREAD or median_error(ordered) > known,
    )


def _interval(ordered: Sequence[float], median: float) -> tuple[float, float]:
    """Return what the median of another run lies in, in 19 of 20 tries.

    The difference of two runs has sqrt(2) times the error of one; what differs between runs comes
    on top, and both are independent, so their squares add.
    """
    low, high = _median_bounds(ordered)
    if math.isinf(high):  # so few samples show no more than the range of all
        low, high = ordered[0], ordered[-1]
    between = math.hypot(_RUN_TO_RUN_RELATIVE * median, _RUN_TO_RUN_US)
    below = math.hypot(math.sqrt(2) * (median - low), between)
    above = math.hypot(math.sqrt(2) * (high - median), between)
    return max(0.0, median - below), median + above


def _median_bounds(ordered: Sequence[float]) -> tuple[float, float]:
    """Return the order statistics around the median; infinite where there are too few samples."""
    count = len(ordered)
    below = math.floor((count - _Z * math.sqrt(count)) / 2)
    if below < 1:
        return -math.inf, math.inf
    return ordered[below - 1], ordered[count - below]


def _std(samples: Sequence[float], mean: float) -> float:
    """Return the standard deviation of the sample (n - 1)."""
    if len(samples) < 2:
        return 0.0
    return math.sqrt(math.fsum((sample - mean) ** 2 for sample in samples) / (len(samples) - 1))


def _quantile(ordered: Sequence[float], part: float) -> float:
    """Return a quantile by linear interpolation, as NumPy does by default."""
    place = part * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)

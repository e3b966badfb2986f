"""What many timings of one kernel come to. Pure; times in microseconds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

ENOUGH_RELATIVE_ERROR = 0.005
"""Of the mean: more repeats would tell little more (nvbench stops at the same)."""
NOISY_SPREAD = 0.1
"""Of p80 - p20, relative to the median."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """The summary that an answer shows."""

    median_us: float
    mean_us: float
    min_us: float
    p20_us: float
    p80_us: float
    std_us: float
    repeats: int
    noisy: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, times to a nanosecond."""
        return {
            name: round(value, 3) if isinstance(value, float) else value
            for name in self.__slots__
            for value in (getattr(self, name),)
        }


def relative_error(samples_us: Sequence[float]) -> float:
    """Return the standard error of the mean, relative to it; infinite for fewer than two."""
    if len(samples_us) < 2:
        return math.inf
    mean = math.fsum(samples_us) / len(samples_us)
    return _std(samples_us, mean) / math.sqrt(len(samples_us)) / mean if mean > 0 else 0.0


def summarise(samples_us: Sequence[float]) -> Statistics:
    """Return the statistics of at least one timing.

    Noisy: the mean is not known well, or the middle of the samples is wide.
    """
    ordered = sorted(samples_us)
    mean = math.fsum(ordered) / len(ordered)
    median, p20, p80 = (_quantile(ordered, part) for part in (0.5, 0.2, 0.8))
    spread = (p80 - p20) / median if median > 0 else 0.0
    return Statistics(
        median_us=median,
        mean_us=mean,
        min_us=ordered[0],
        p20_us=p20,
        p80_us=p80,
        std_us=_std(ordered, mean),
        repeats=len(ordered),
        noisy=spread > NOISY_SPREAD or relative_error(ordered) > 2 * ENOUGH_RELATIVE_ERROR,
    )


def _std(samples: Sequence[float], mean: float) -> float:
    """Return the standard deviation of the sample (n - 1)."""
    if len(samples) < 2:
        return 0.0
    return math.sqrt(math.fsum((one - mean) ** 2 for one in samples) / (len(samples) - 1))


def _quantile(ordered: Sequence[float], part: float) -> float:
    """Return a quantile by linear interpolation, as NumPy does by default."""
    place = part * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)

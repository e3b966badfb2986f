"""Plans timed runs of a kernel: a fixed number untimed, then until the median is known.

Pure except for the clock: knows no CUDA.
"""

import math
import time
from bisect import insort
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from worker.gpu.launcher.launcher_order import TimingOrder
from worker.gpu.launcher.statistics import enough_error, median_error

MAX_SAMPLES = 10_000
_MIN_SAMPLES = 3
_PART_TO_WARM_UP = 0.25
_SHORTEST_ITERATION_MS = 0.001


class Plan:
    """Plans the runs of one kernel: counts those queued and timed, and decides how many come next.

    The budget `max_ms` counts from when this is made, warming up included.
    """

    def __init__(self, order: TimingOrder) -> None:
        self.order = order
        self.samples_us: list[float] = []
        self._started = time.monotonic()
        self._iteration_ms = 0.0
        self._left_to_warm_up = 0
        self._queued = 0
        self._most = 1
        self._ordered: list[float] = []
        self._needed = 0

    def begin(self, most: int) -> None:
        """Take note that one run, the first, is over; from now on `most` may be queued at once.

        Runs that warm up take a quarter of the budget at most.
        """
        self._most = most
        self._iteration_ms = max(self._spent_ms, _SHORTEST_ITERATION_MS)
        left_ms = self.order.max_ms * _PART_TO_WARM_UP - self._spent_ms
        affordable = max(0, int(left_ms / self._iteration_ms))
        self._left_to_warm_up = max(0, min(self.order.warmup_repeats - 1, affordable))

    @property
    def is_warming_up(self) -> bool:
        """True if the next runs are warm-up runs, which are not timed."""
        return self._left_to_warm_up > 0

    def next_count(self) -> int:
        """Return how many runs to queue now; 0 where the running ones may be enough."""
        if self.is_warming_up:
            return min(self._left_to_warm_up, self._most)
        wanted = max(self.order.min_repeats, self._needed)
        wanted = max(min(wanted, self.order.max_repeats or wanted), _MIN_SAMPLES)
        under_way_ms = (self._queued - len(self.samples_us)) * self._iteration_ms
        left_ms = self.order.max_ms - self._spent_ms - under_way_ms
        affordable = max(int(left_ms / self._iteration_ms), _MIN_SAMPLES - self._queued)
        return max(0, min(wanted - self._queued, affordable, self._most))

    def queue(self, count: int) -> None:
        """Record that `count` runs were queued."""
        if self.is_warming_up:
            self._left_to_warm_up -= count
        else:
            self._queued += count

    def warmed_up(self, count: int, span_ms: float) -> None:
        """Take note of untimed runs that took so long one after the other."""
        if count > 1:
            self._iteration_ms = max(span_ms / (count - 1), _SHORTEST_ITERATION_MS)

    def timed(self, samples_us: Sequence[float], span_ms: float) -> None:
        """Take note of timed runs."""
        self.samples_us += samples_us
        for sample in samples_us:
            insort(self._ordered, sample)
        self._needed = iterations_needed(self._ordered)
        self.warmed_up(len(samples_us), span_ms)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the time of the block out of the budget."""
        began = time.monotonic()
        yield
        self._started += time.monotonic() - began

    @property
    def _spent_ms(self) -> float:
        return (time.monotonic() - self._started) * 1000


def iterations_needed(ordered: Sequence[float]) -> int:
    """Return how many timings will show the median well enough, existing ones included.

    Its error falls with the square root of their number. Samples are in order.
    """
    have = len(ordered)
    if not have:
        return 0
    error = median_error(ordered)
    if math.isinf(error):
        return 2 * have + _MIN_SAMPLES
    if error <= (enough := enough_error(ordered)):
        return have
    return min(MAX_SAMPLES, max(have + 1, math.ceil(have * (error / enough) ** 2)))

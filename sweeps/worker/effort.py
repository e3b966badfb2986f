"""The time that a search spent compiling and measuring, by its driver's clock."""

import time
from dataclasses import dataclass, field

from sweeps.search.measurement import Measurement
from sweeps.sweep_record import SearchEffort


@dataclass(slots=True)
class EffortClock:
    """The time of timing variants: `timed_ms` on GPUs, without the gaps between runs."""

    begun: float = field(default_factory=time.monotonic)
    compiled: float = field(default_factory=time.monotonic)
    launched: float | None = None
    reported: float = 0.0
    launches: int = 0
    timed_ms: float = 0.0

    def compile_ended(self) -> None:
        """Take note that a variant is compiled."""
        self.compiled = time.monotonic()

    def launch_begins(self) -> None:
        """Take note that a launch begins."""
        if self.launched is None:
            self.launched = time.monotonic()

    def launch_ended(self, measurement: Measurement) -> None:
        """Take note of a launch that is over."""
        self.launches += 1
        self.reported = time.monotonic()
        if measurement.time is not None:
            self.timed_ms += measurement.time.median_us * measurement.time.repeats / 1000

    def taken(self) -> SearchEffort:
        """Return what the answer says of it."""
        measuring_s = max(0.0, self.reported - self.launched) if self.launched is not None else 0.0
        return SearchEffort(
            launches=self.launches,
            timed_ms=round(self.timed_ms, 3),
            measuring_ms=round(1000 * measuring_s, 3),
            compiling_ms=round(1000 * (self.compiled - self.begun), 3),
        )

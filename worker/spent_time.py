"""Wall time of the parts of a task in milliseconds, summed over repetitions."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SpentTime:
    """Sums by part; parts that overlap are each counted in full."""

    ms: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def on(self, part: str) -> Iterator[None]:
        """Count what the block takes, however it ends."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.add(part, time.monotonic() - started)

    def add(self, part: str, seconds: float) -> None:
        """Add seconds to a part."""
        self.ms[part] += seconds * 1000

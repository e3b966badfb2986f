"""Which tasks share a child with others of their kind, and when such a child has done enough.

Only what reads and runs nothing of the user's may be kept: see SECURITY.md. Everything else, and
everything that did not end as it should, costs a child of its own.
"""

from dataclasses import dataclass

from worker.outcome import Ending, Outcome, Usage

KEPT_TASKS = frozenset({"cut"})

MOST_JOBS = 200
MOST_BYTES = 16 << 20
"""Of jobs, which bounds what the parser may have interned and fragmented."""
MOST_BUSY_S = 10.0
"""All its jobs together: the kernel allows a child 60 s of CPU time."""
LONGEST_LIFE_S = 600.0
MOST_RSS_BYTES = 256 << 20
"""At its largest, by its own account."""
PATIENCE_S = 10.0
"""For a job in a child that did others before; a fresh one has all the time that the job has."""

_UNCLEAN = frozenset({"memory_exceeded", "compiler_crashed"})


def ended_well(outcome: Outcome) -> bool:
    """Return whether the task ended as tasks should: done, or with a failure of its own naming."""
    if outcome.ending is Ending.FAILURE:
        return outcome.failure is not None and outcome.failure.get("slug") not in _UNCLEAN
    return outcome.ending is Ending.OK


@dataclass(slots=True)
class Service:
    """What one child has done since it was `born`; times are of the loop's clock."""

    born: float
    jobs: int = 0
    size_bytes: int = 0
    busy_s: float = 0.0
    _begun: float | None = None

    def begin(self, size_bytes: int, now: float) -> None:
        """Count a job that begins."""
        self.jobs += 1
        self.size_bytes += size_bytes
        self._begun = now

    def end(self, now: float) -> None:
        """Count the time of the job that ends, if there was one."""
        if self._begun is not None:
            self.busy_s += now - self._begun
            self._begun = None

    def is_enough(self, now: float, usage: Usage | None) -> bool:
        """Return whether another child should do the next job; `usage` is that of the last."""
        return (
            usage is None
            or usage.max_rss_bytes >= MOST_RSS_BYTES
            or self.jobs >= MOST_JOBS
            or self.size_bytes >= MOST_BYTES
            or self.busy_s >= MOST_BUSY_S
            or now - self.born >= LONGEST_LIFE_S
        )

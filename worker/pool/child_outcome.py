"""The end of a child and its output, within limits.

Also which tasks share a child with others of their kind, and when such a child has done enough:
only what reads and runs nothing of the user's may be kept (SECURITY.md).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Ending(StrEnum):
    """The one name of how a child ended."""

    OK = "ok"
    """A complete result, and nothing after it."""
    FAILURE = "failure"
    """A complete frame of the task names why it could not be done."""
    DEADLINE = "deadline"
    SIGNAL = "signal"
    """It crashed, or was killed by the kernel (memory, CPU time) or with its zygote."""
    FLOOD = "flood"
    """More output or result than the caps allow."""
    GARBAGE = "garbage"
    """Bytes that are not a frame of this job."""
    SILENT = "silent"
    """It left without a last frame."""
    SANDBOX = "sandbox"
    """A layer could not be applied; the task was not run."""


@dataclass(frozen=True, slots=True)
class SentStage:
    """One stage that was reached.

    Its artifact, and its milliseconds as the child reported them.
    """

    name: str
    ms: float
    body: bytes


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources that a child used."""

    cpu_s: float
    """Programs it waited for included."""
    max_rss_bytes: int


@dataclass(frozen=True, slots=True)
class ChildOutcome:
    """The end of one job's child.

    The child itself reports everything except `ending`.
    """

    ending: Ending
    detail: str
    """The reason, for a log; empty for `ok`."""
    stages: tuple[SentStage, ...]
    result: dict[str, Any] | None
    failure: dict[str, Any] | None
    stdout: bytes
    """The first bytes only, up to the pool's cap."""
    stderr: bytes
    signal: int | None
    exit_status: int | None
    usage: Usage | None
    """By the kernel's account when the child died, by its own when it finished.

    None when it is not known.
    """


@dataclass(frozen=True, slots=True)
class Caps:
    """Limits on the output of one child; beyond them it is killed."""

    result_bytes: int = 64 << 20
    output_bytes: int = 1 << 20
    """The limit for stdout and stderr together."""
    kept_output_bytes: int = 64 << 10
    """The number of bytes kept of each of them."""


KEPT_TASKS = frozenset({"read", "compare"})
UNPARSED_TASKS = frozenset({"compare"})
"""Tasks whose bodies are numbers: no text of them stays in the process."""

MAX_JOBS = 200
MAX_BYTES = 16 << 20
"""The most jobs of a child: the parser interns texts and fragments memory."""
MAX_BUSY_S = 10.0
"""All its jobs together: the kernel allows a child 60 s of CPU time."""
MAX_LIFE_S = 600.0
MAX_RSS_BYTES = 256 << 20
"""The largest resident set that a child may report."""
REUSED_CHILD_LIMIT_S = 10.0
"""The time of a job in a used child; a fresh child gets the job's whole limit."""

_UNCLEAN = frozenset({"memory_exceeded", "compiler_crashed"})


def ended_well(outcome: ChildOutcome) -> bool:
    """Return True if the task finished, or reported a failure itself."""
    if outcome.ending is Ending.FAILURE:
        return outcome.failure is not None and outcome.failure.get("slug") not in _UNCLEAN
    return outcome.ending is Ending.OK


@dataclass(slots=True)
class ChildUse:
    """The progress of one child since it was `born`; times are on the loop's clock."""

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
        """Return True if another child should do the next job; `usage` is that of the last."""
        return (
            usage is None
            or usage.max_rss_bytes >= MAX_RSS_BYTES
            or self.jobs >= MAX_JOBS
            or self.size_bytes >= MAX_BYTES
            or self.busy_s >= MAX_BUSY_S
            or now - self.born >= MAX_LIFE_S
        )

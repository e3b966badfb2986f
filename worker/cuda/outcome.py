"""How a launch in a launcher ended, and what it left behind. Words only."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class LaunchEnding(StrEnum):
    """The one name of how a launch ended."""

    OK = "ok"
    """The kernel ran to its end; `result` has findings, if there are any."""
    FAULT = "fault"
    """The kernel could not run, or did what ended it; `fault` says what."""
    FAILURE = "failure"
    """The launcher could not do the job, through no fault of the kernel's; `failure` says why."""
    DEADLINE = "deadline"
    SIGNAL = "signal"
    """The launcher crashed or was killed."""
    GARBAGE = "garbage"
    """It said what is no frame of this job, or too much."""
    SILENT = "silent"
    """It left without a last frame."""


@dataclass(frozen=True, slots=True)
class LaunchOutcome:
    """Everything that is known of one launch."""

    ending: LaunchEnding
    detail: str = ""
    """Why, in words for a log; empty for `ok`."""
    result: dict[str, Any] | None = None
    """resources, modified_inputs, digest (of outputs, by name), differing (outputs of two runs;
    None: run once), timed_digest, timing, findings, timings_ms."""
    fault: dict[str, Any] | None = None
    """kind (a verdict), error (CUDA's name or null), message."""
    failure: dict[str, Any] | None = None
    """slug (malformed_job, module_not_loadable, device_error), message."""
    stages: tuple[str, ...] = ()
    """What it had begun: inputs, load, write, run, read, restore, unwritten, again, timing,
    timed_read, tidy."""
    outputs: dict[str, bytes] = field(default_factory=dict)
    """By name, elements in C order, of the first run."""
    unwritten: dict[str, bytes] = field(default_factory=dict)
    """Of outputs with elements that the kernel did not write: a bit for each element."""
    timed_outputs: dict[str, bytes] = field(default_factory=dict)
    """The same of the last timed run, where they differ from the first."""
    timed_unwritten: dict[str, bytes] = field(default_factory=dict)
    stdout: bytes = b""
    """What the kernel and the driver printed, up to a cap."""
    signal: int | None = None
    clean: bool = False
    """Whether the launcher can take another job of the same caller."""


@dataclass(frozen=True, slots=True)
class LauncherFacts:
    """What a launcher says of its GPU and of itself."""

    target: str
    model: str
    uuid: str
    num_sms: int
    l2_bytes: int
    memory_bytes: int
    shared_bytes: int
    cuda: str
    driver: str | None
    sandbox: tuple[str, ...]

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> "LauncherFacts":
        """Return the facts of a `ready` frame. Raises KeyError for what is missing."""
        values = {name: facts[name] for name in cls.__slots__}
        return cls(**values | {"sandbox": tuple(facts["sandbox"])})

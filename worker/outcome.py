"""How a child ended and what it left behind. Words only."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Ending(StrEnum):
    """The one name of how a child ended."""

    OK = "ok"
    """A complete result, and nothing after it."""
    FAILURE = "failure"
    """The task said, in a complete frame, why it could not be done."""
    DEADLINE = "deadline"
    SIGNAL = "signal"
    """It crashed, or was killed by the kernel (memory, CPU time) or with its zygote."""
    FLOOD = "flood"
    """More output or result than the caps allow."""
    GARBAGE = "garbage"
    """Something that is no frame of this job."""
    SILENT = "silent"
    """It left without a last frame."""
    SANDBOX = "sandbox"
    """A layer could not be applied; the task was not run."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage that was reached.

    Its artifact, and the milliseconds it took by the child's own account.
    """

    name: str
    ms: float
    body: bytes


@dataclass(frozen=True, slots=True)
class Usage:
    """What a child took."""

    cpu_s: float
    """Programs it waited for included."""
    max_rss_bytes: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything that is known of one job's child.

    All of it except the ending was said by that child.
    """

    ending: Ending
    detail: str
    """Why, in words for a log; empty for `ok`."""
    stages: tuple[Stage, ...]
    result: dict[str, Any] | None
    failure: dict[str, Any] | None
    stdout: bytes
    """The first bytes only, up to the pool's cap."""
    stderr: bytes
    signal: int | None
    exit_status: int | None
    usage: Usage | None
    """By the kernel's account when the child died, by its own when it finished.

    None when nobody knows.
    """


@dataclass(frozen=True, slots=True)
class Caps:
    """How much one child may say before it is ended."""

    result_bytes: int = 64 << 20
    output_bytes: int = 1 << 20
    """Of stdout and stderr together."""
    kept_output_bytes: int = 64 << 10
    """Of each of them."""

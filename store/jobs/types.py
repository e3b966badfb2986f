"""The types of the job protocol as plain values, and the names of the lanes that jobs queue in."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# The time that a result without reuse stays available to its callers.
KEPT_S: Final = 600
LAUNCH_LANES: Final = "launch:"
"""The prefix of lanes of launches."""
PROGRAM_LANES: Final = "programs:"
"""The prefix of lanes of programs."""


class Priority(StrEnum):
    """Interactive jobs are claimed before batch jobs."""

    INTERACTIVE = "interactive"
    BATCH = "batch"


class SubmitOutcome(StrEnum):
    """The result of a submit: a recent result, a joined job, or a new job."""

    HIT = "hit"
    JOIN = "join"
    MISS = "miss"


class State(StrEnum):
    """The place of an unfinished job."""

    QUEUED = "queued"
    RUNNING = "running"


class Heartbeat(StrEnum):
    """The answer to a heartbeat: continue; the attempt lost its claim; the job was cancelled."""

    OK = "ok"
    LOST = "lost"
    CANCELLED = "cancelled"


class Cancellation(StrEnum):
    """The result of a cancel: interest withdrawn, job ended, job already over, no such job."""

    WITHDRAWN = "withdrawn"
    CANCELLED = "cancelled"
    FINISHED = "finished"
    NOT_FOUND = "not_found"


class DeadLetter(StrEnum):
    """Why a reaper holds a claim: workers died too often on it, or none claimed it in time."""

    EXHAUSTED = "exhausted"
    OVERDUE = "overdue"


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """The bounds of the protocol. Joins are never refused.

    Queued jobs are bounded per lane; the bytes are those of the payloads of all living jobs.
    """

    queued: int = 10_000
    queued_per_caller: int = 2_000
    living_bytes: int = 256 << 20
    kept_bytes_per_caller: int = 1 << 30
    """The limit for results kept longer than a minute, and for what batches keep."""
    deliveries: int = 3
    lease_ms: int = 15_000
    aged_ms: int = 30_000
    """Time that batch jobs wait behind interactive ones before they get some claims."""


@dataclass(frozen=True, slots=True)
class Membership:
    """The batch that a job is submitted for, and its items there: indices with blanks between."""

    batch_id: str
    indices: str
    of_batch_alone: bool = False
    """True if no other caller can have requested the job, as for a launch."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The interest of one request in a job, for as long as the request waits."""

    name: str
    wait_ms: int
    is_only: bool = False
    """True if its caller wants the job only while it waits: there is no standing interest."""

    @property
    def interest(self) -> str:
        """Under which the store knows it."""
        return f"request:{self.name}"


def interest_of_caller(caller: str) -> str:
    """Return the standing interest of `caller`, which lasts until it is withdrawn."""
    return f"caller:{caller}"


def interest_of_batch(batch_id: str) -> str:
    """Return the interest of a batch in the jobs of its items."""
    return f"batch:{batch_id}"


@dataclass(frozen=True, slots=True)
class Submitted:
    """The answer to a submit; `record` is there for a hit only."""

    job_id: str
    outcome: SubmitOutcome
    record: bytes | None = None
    is_older: bool = False
    """True if a refresh joined an attempt without one: ask again when that attempt is over."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One attempt at a job. All times are ms since 1970 by the server's clock.

    `deadline_at_ms` bounds the time in the queue. `dead_letter` is set for a reaper's claims only:
    those are not to be run but to be finished with a record that names the error.
    """

    id: str
    lane: str
    priority: Priority
    payload: bytes
    token: int
    attempt: int
    deliveries: int
    refresh: bool
    deadline_at_ms: int
    submitted_at_ms: int
    started_at_ms: int
    timeout_ms: int = 0
    """The longest execution timeout of its callers; 0: none given."""
    caller: str = ""
    """The one whose turn it took."""
    request_id: str = ""
    """Of the request that it was submitted for; "": unknown."""
    traceparent: str = ""
    """The span that it was submitted in; "": none."""
    dead_letter: DeadLetter | None = None


@dataclass(frozen=True, slots=True)
class JobStatus:
    """Where a living job is. `position` is 1 for the next one and None when running."""

    state: State
    priority: Priority
    attempt: int
    submitted_at_ms: int
    started_at_ms: int | None
    position: int | None


@dataclass(frozen=True, slots=True)
class LaneLoad:
    """The jobs of a lane that wait for a worker; `oldest_wait_ms` is 0 where none does."""

    queued: int
    oldest_wait_ms: int


@dataclass(frozen=True, slots=True)
class Result:
    """The end of a job: its record, and whether a submit may reuse it."""

    record: bytes
    reusable: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """All that is kept of a job: its state while it lives, then its record; what it was asked."""

    state: str | None
    record: bytes | None
    payload: bytes | None


@dataclass(frozen=True, slots=True)
class JobEnd:
    """The end of a job: its record, whether a submit may reuse it, and for how long."""

    record: bytes
    reusable: bool
    keep_s: int


@dataclass(frozen=True, slots=True)
class Revocation:
    """An attempt that no longer counts, because it is `why`: lost or cancelled."""

    id: str
    token: int
    why: Heartbeat


def compile_lane(toolchain_id: str) -> str:
    """Return the lane of compile jobs that need this toolchain."""
    return f"compile:{toolchain_id}"


def inspect_lane(toolchain_id: str) -> str:
    """Return the lane of inspections, done by this toolchain's Python."""
    return f"inspect:{toolchain_id}"


def cpu_lane(toolchain_id: str) -> str:
    """Return the lane of launches on this toolchain's CPU device.

    It keeps that device's old name, as jobs that earlier versions queued wait there.
    """
    return f"{LAUNCH_LANES}interpreter:{toolchain_id}"


def device_lane(target: str, model: str) -> str:
    """Return the lane of launches on one class of GPUs."""
    return f"{LAUNCH_LANES}{target} {model}"


def torch_lane(lane: str) -> str:
    """Return the lane of those launches of `lane` whose references need torch."""
    return f"{lane}:torch"


def derive_lane(toolchain_id: str) -> str:
    """Return the lane of derivations of this toolchain's compilations."""
    return f"derive:{toolchain_id}"


def programs_lane(toolchain_id: str) -> str:
    """Return the lane of programs that this toolchain's Triton records and compiles for."""
    return f"{PROGRAM_LANES}{toolchain_id}"


def program_device_lane(toolchain_id: str, target: str, model: str) -> str:
    """Return the lane of programs of this toolchain that run on one class of GPUs."""
    return f"{PROGRAM_LANES}{toolchain_id}:{target} {model}"


def lanes_of(toolchain_id: str, program_devices: Iterable[str]) -> list[str]:
    """Return all lanes that belong to this toolchain wherever its workers are.

    Its programs run on the CPU device, and on GPUs of `program_devices`, "<target> <model>".
    """
    on_the_cpu = cpu_lane(toolchain_id)
    every = (compile_lane, inspect_lane, derive_lane, programs_lane)
    on_gpus = (name.partition(" ") for name in program_devices)
    return [
        *(lane(toolchain_id) for lane in every),
        *(on_the_cpu, torch_lane(on_the_cpu)),
        *(program_device_lane(toolchain_id, target, model) for target, _, model in on_gpus),
    ]


def lanes_of_all(devices: Iterable[str], shared: Iterable[str]) -> list[str]:
    """Return the lanes whose jobs may post more for any toolchain.

    These are the `shared` lanes of features and launches on GPUs. The classes of GPUs are
    `devices`, "<target> <model>".
    """
    on_gpus = (name.partition(" ") for name in devices)
    launches = [device_lane(target, model) for target, _, model in on_gpus]
    return [*shared, *launches, *map(torch_lane, launches)]


def device_class_of(lane: str) -> str | None:
    """Return "<target> <model>" of a lane whose jobs run on GPUs, None for any other."""
    before, _, model = lane.removesuffix(":torch").partition(" ")
    if not model:
        return None
    return f"{':'.join(before.split(':')[-2:])} {model}"


def kind_of(lane: str) -> str:
    """Return the name of the kind of a lane's jobs."""
    return lane.partition(":")[0]

"""A kind of job: everything that the service, the workers and the reapers share about it.

The job protocol (`store.jobs`) moves bytes. A `JobKind` defines what those bytes mean, which lane
they queue in, and which record ends a job that no handler has finished. Submitting, consuming,
cancelling and expiring are written once, for all kinds.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar, cast

import orjson
from pydantic import BaseModel

from compiler.problem import Problem, failure_problem
from store.byte_limits import MAX_FAILURE_RECORD_BYTES
from store.errors import NoRoomForRecord, RecordRefused, StoreFull
from store.jobs.types import KEPT_S, Claim, DeadLetter, JobEnd, kind_of
from store.launches import LIFE_S
from store.stored import Unreadable, read_stored

Job = TypeVar("Job", bound=BaseModel)

_STATE: Final = re.compile(rb'"state": ?"([a-z]+)"')
_HEAD_BYTES: Final = 1_024
UNREADABLE: Final = (
    "No worker here can read this job: another version of tritond wrote it, or it was damaged. "
    "Post it again."
)


@dataclass(frozen=True, slots=True)
class Unhandled(Generic[Job]):
    """A job that no handler has written a record for; `job` is None where it cannot be read."""

    id: str
    job: Job | None
    state: Any
    problem: Problem | None = None
    queue_position: int | None = None


@dataclass(frozen=True, slots=True)
class JobKind(Generic[Job]):
    """One kind of job. Every sentence in it reaches the caller as a problem's detail."""

    name: str
    """The first part of the names of its lanes."""
    noun: str
    """The word for one of its jobs in messages."""
    job: type[Job]
    """The resolved request: the payload of a queued job."""
    record: Callable[[Unhandled[Job]], BaseModel]
    id_of: Callable[[Job], str]
    lane_of: Callable[[Job], str] | None = None
    """None: all its jobs wait in one lane, which has its name."""
    request: type[BaseModel] | None = None
    """The posted body, where one is posted."""
    shown: type[BaseModel] | None = None
    """The members of a job that `record` reads, where reading all of it takes long."""
    is_owned: bool = False
    """True if a job belongs to its caller alone. Its record is stored for a day, and answers a
    repeated submit."""
    keeps_payload: bool = False
    """True if the payload is stored as long as the record."""
    failure_slug: str = "worker_lost"
    cancelled_slug: str = "cancelled"
    cancelled: str = "Its caller cancelled it."
    overdue: Problem | None = None
    """The problem of a job that no worker took in time, where that is not a lost worker's."""
    overdue_detail: str = "No worker took this job in time. Post it again once a worker runs."
    exhausted_detail: str = "Three workers in a row died or gave up on this job. Post it again."

    def lane(self, job: Job) -> str:
        """Return the lane that a job waits in."""
        return self.name if self.lane_of is None else self.lane_of(job)

    def written(self, job: Job) -> bytes:
        """Return the payload that `read` reads."""
        return _json(job)

    def read(self, payload: bytes) -> Job:
        """Return the job in `payload`. Raises Unreadable for one of another version."""
        return read_stored(self.job, payload)

    def unfinished(self, job_id: str, payload: bytes, state: str, position: int | None) -> bytes:
        """Return the record of a job that is queued or running."""
        job = self._readable(payload)
        return _json(self.record(Unhandled(job_id, job, state, queue_position=position)))

    def cancelled_record(self, job_id: str, payload: bytes) -> bytes:
        """Return the record of a job whose callers all withdrew."""
        return self._cancelled(job_id, self._readable(payload), self.cancelled)

    def cancelled_of(self, job: Job, why: str = "") -> bytes:
        """Return the same of a job that is at hand; `why` may be more precise."""
        return self._cancelled(self.id_of(job), job, why or self.cancelled)

    def _cancelled(self, job_id: str, job: Job | None, why: str) -> bytes:
        problem = failure_problem(self.cancelled_slug, why)
        return self._ended(Unhandled(job_id, job, "cancelled", problem))

    def mistake(self, job: Job) -> JobEnd:
        """Return how a job ends when its handler raised an error that is our mistake."""
        detail = f"The worker made a mistake; its log holds the details under {self.id_of(job)}."
        problem = failure_problem(self.failure_slug, detail)
        return self._end(Unhandled(self.id_of(job), job, "failed", problem))

    def refused(self, job: Job, refusal: RecordRefused) -> tuple[JobEnd, Problem]:
        """Return how a job ends whose record the store refused, and why. It is not tried again."""
        slugs = {NoRoomForRecord: "too_many_requests", StoreFull: "store_unavailable"}
        problem = failure_problem(slugs.get(type(refusal), "result_too_large"), str(refusal))
        end = self._end(Unhandled(self.id_of(job), job, "failed", problem))
        return replace(end, reusable=end.reusable or not problem.retryable), problem

    def expired(self, job_id: str, payload: bytes, reason: DeadLetter | str) -> JobEnd:
        """Return how a job ends that no worker finished, for `reason`."""
        job = self._readable(payload)
        if job is None or not self._is_readable(payload):
            problem = failure_problem(self.failure_slug, UNREADABLE)
        elif reason == DeadLetter.OVERDUE:
            problem = self.overdue or failure_problem(self.failure_slug, self.overdue_detail)
        else:
            problem = failure_problem(self.failure_slug, self.exhausted_detail)
        return self._end(Unhandled(job_id, job, "failed", problem))

    @property
    def keep_s(self) -> int:
        """The lifetime of a record that no handler wrote."""
        return LIFE_S if self.is_owned else KEPT_S

    def _end(self, end: Unhandled[Job]) -> JobEnd:
        return JobEnd(self._ended(end), reusable=self.is_owned, keep_s=self.keep_s)

    def _ended(self, end: Unhandled[Job]) -> bytes:
        """Return a record without results, which is small enough to be kept in any case."""
        record = _json(self.record(end))
        if len(record) <= MAX_FAILURE_RECORD_BYTES:
            return record
        return _json(self.record(replace(end, job=None)))

    def _is_readable(self, payload: bytes) -> bool:
        """Return whether a worker of this version could read all of a job."""
        try:
            self.read(payload)
        except Unreadable:
            return False
        return True

    def _readable(self, payload: bytes) -> Job | None:
        """Return what `record` reads of the job, None where it is of another version."""
        try:
            return cast("Job", read_stored(self.shown or self.job, payload))
        except Unreadable:
            return None


def state_of_record(record: bytes) -> str:
    """Return the state in a record, whose other members may be large and are not parsed.

    In every record it is before all that a user wrote. Raises ValueError where there is none.
    """
    match = _STATE.search(record, 0, _HEAD_BYTES)
    if match is None:
        raise ValueError("a stored record has no state")
    return match[1].decode()


JobKinds = Mapping[str, JobKind[Any]]
"""Kinds of jobs by name."""


def by_name(kinds: Iterable[JobKind[Any]]) -> JobKinds:
    """Return the kinds by their names."""
    return {kind.name: kind for kind in kinds}


def expired(kinds: JobKinds, claim: Claim) -> JobEnd:
    """Return how the job of a reaper's claim ends. A kind that is not known here ends, too."""
    reason = claim.dead_letter or DeadLetter.EXHAUSTED
    kind = kinds.get(kind_of(claim.lane))
    if kind is not None:
        return kind.expired(claim.id, claim.payload, reason)
    problem = failure_problem("worker_lost", UNREADABLE)
    record = orjson.dumps({"state": "failed", "problem": problem.model_dump()})
    return JobEnd(record, reusable=False, keep_s=KEPT_S)


def _json(record: BaseModel) -> bytes:
    return record.model_dump_json(by_alias=True).encode()

"""Jobs that only their caller may see: launches, programs and proofs.

Finds, reads and cancels them by id. `JobKind` defines their records; routes answer HTTP.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel

from jobs.deadline import Deadline
from jobs.kind import JobKind
from service.caller import Caller
from service.compilations.answer import FINISHED_STATES
from service.http.problems import ProblemRaised
from service.state import ServiceState
from store.byte_limits import MAX_ID_BYTES
from store.errors import JobLost
from store.jobs.types import Cancellation, Membership, SubmitOutcome, Submitted, Waiting

OVER_STATES = FINISHED_STATES | {"completed"}
"""The states of a record after which nothing more happens."""
_SHOWN_CHARS = 100
Stored = TypeVar("Stored")


class SubmitOwned(Protocol):
    """Checks a posted body and queues its job under an id."""

    def __call__(
        self,
        state: ServiceState,
        request: Any,
        caller: Caller,
        job_id: str,
        /,
        *,
        waiting: Waiting | None = None,
        membership: Membership | None = None,
    ) -> Awaitable[Submitted]:
        """Submit it. Raises RequestRejected, ProblemRaised, QueueFull, StoreUnavailable."""


@dataclass(frozen=True, slots=True)
class OwnedJobs(Generic[Stored]):
    """The jobs of one kind, as its routes and batches serve them."""

    kind: JobKind[Any]
    collection: str
    """The last part of their URL, and the name of their kind in batches."""
    submit: SubmitOwned
    find: Callable[[ServiceState, str, str], Awaitable[Stored | None]]
    """Finds the stored data of a job by its id and its caller's id."""
    runs_equal_once: bool = False
    """True if equal requests without a `seed` share a run while it is queued or running."""
    scope: str = "launch"
    """The scope that an API key needs for them."""

    @property
    def request(self) -> type[BaseModel]:
        """The model of a posted body."""
        assert self.kind.request is not None
        return self.kind.request

    def url_of(self, job_id: str) -> str:
        """Return the path of one of them."""
        return f"/v1/{self.collection}/{job_id}"

    async def joined(self, state: ServiceState, caller: Caller, job_id: str) -> Submitted | None:
        """Return a join of the caller's job, None where it has none, or the store has lost it."""
        is_there = await self.find(state, job_id, caller.id) is not None
        if is_there and not await state.client.is_lost(job_id):
            return Submitted(job_id, SubmitOutcome.JOIN)
        return None

    async def find_owned(self, state: ServiceState, caller: Caller, job_id: str) -> Stored:
        """Return the stored data of the job. Raises ProblemRaised (404) if the caller has none."""
        is_id = len(job_id) <= MAX_ID_BYTES
        stored = await self.find(state, job_id, caller.id) if is_id else None
        if stored is None:
            detail = f"You have no {self.kind.noun} {job_id[:_SHOWN_CHARS]}"
            raise ProblemRaised("not_found", detail)
        return stored

    async def wait_for(self, state: ServiceState, job_id: str, deadline: Deadline) -> bytes:
        """Return the job's record once it is over, or its state at the deadline.

        Raises ProblemRaised (404) when it has expired.
        """
        with suppress(JobLost):
            left_s = deadline.left_s
            if left_s and (result := await state.results.wait(job_id, left_s)):
                return result.record
        return await self.read(state, job_id)

    async def read(self, state: ServiceState, job_id: str) -> bytes:
        """Return the current record. Raises ProblemRaised (404) when it has expired."""
        if result := await state.jobs.result(job_id):
            return result.record
        payload, status = await state.jobs.payload(job_id), await state.jobs.state(job_id)
        if payload is not None and status is not None:
            return self.kind.unfinished(job_id, payload, status.state.value, status.position)
        # it may have ended between the looks
        if result := await state.jobs.result(job_id):
            return result.record
        raise ProblemRaised("not_found", f"The {self.kind.noun} {job_id} has expired")

    async def cancel(self, state: ServiceState, caller: Caller, job_id: str) -> bool:
        """Cancel the job. Returns False when it was over."""
        payload = await state.jobs.payload(job_id)
        if payload is None:
            return False
        record = self.kind.cancelled_record(job_id, payload)
        done = await state.jobs.cancel(job_id, caller.id, record, self.kind.keep_s)
        return done in {Cancellation.CANCELLED, Cancellation.WITHDRAWN}

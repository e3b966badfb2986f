"""Jobs that only their caller may see, by an id: launches and programs. Found, read, cancelled.

What such a job is, and what its record says, its type knows; nothing here answers HTTP.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel

from service.caller import Caller
from service.compilations.answer import FINISHED_STATES
from service.http.problems import ProblemRaised
from service.state import ServiceState
from store.errors import JobLost
from store.jobs.types import Cancellation
from store.launches import LIFE_S

OVER_STATES = FINISHED_STATES | {"completed"}
"""The states of a record after which nothing more happens."""
_SHOWN_CHARS = 100
Stored = TypeVar("Stored")


class UnfinishedRecord(Protocol):
    """What makes the record of a job that no worker has written one of."""

    def __call__(self, payload: bytes, state: str, queue_position: int | None) -> BaseModel:
        """Return the record of the job in `payload`, which waits behind `queue_position` others."""


@dataclass(frozen=True, slots=True)
class OwnedJobs(Generic[Stored]):
    """The jobs of one type; `noun` is what a message calls one of them."""

    noun: str
    url_of: Callable[[str], str]
    find: Callable[[ServiceState, str, str], Awaitable[Stored | None]]
    """Finds what is stored of a job beside it, by its id and its caller's."""
    unfinished: UnfinishedRecord
    cancelled: Callable[[bytes], BaseModel]
    """Makes the record with which the job in a payload ends when its caller cancels it."""

    async def is_there(self, state: ServiceState, caller: Caller, job_id: str) -> bool:
        """Return whether the caller has the job."""
        return await self.find(state, job_id, caller.id) is not None

    async def find_owned(self, state: ServiceState, caller: Caller, job_id: str) -> Stored:
        """Return what is stored of the job. Raises ProblemRaised (404): none, or not theirs."""
        stored = await self.find(state, job_id, caller.id)
        if stored is None:
            detail = f"You have no {self.noun} {job_id[:_SHOWN_CHARS]}"
            raise ProblemRaised("not_found", detail)
        return stored

    async def wait_for(self, state: ServiceState, job_id: str, wait_s: float) -> bytes:
        """Return the job's record as it is once it is over, or after `wait_s`.

        Raises ProblemRaised (404) when it is not kept any more.
        """
        with suppress(JobLost):
            if wait_s and (result := await state.results.wait(job_id, wait_s)):
                return result.record
        return await self.read(state, job_id)

    async def read(self, state: ServiceState, job_id: str) -> bytes:
        """Return the record as it is now. Raises ProblemRaised (404) when it is kept no more."""
        if result := await state.jobs.result(job_id):
            return result.record
        payload, status = await state.jobs.payload(job_id), await state.jobs.state(job_id)
        if payload is not None and status is not None:
            record = self.unfinished(payload, status.state.value, status.position)
            return record.model_dump_json().encode()
        # it may have ended between the looks
        if result := await state.jobs.result(job_id):
            return result.record
        raise ProblemRaised("not_found", f"The {self.noun} {job_id} is not kept any more")

    async def cancel(self, state: ServiceState, caller: Caller, job_id: str) -> bool:
        """Cancel the job; False when it was over."""
        payload = await state.jobs.payload(job_id)
        if payload is None:
            return False
        record = self.cancelled(payload).model_dump_json().encode()
        done = await state.jobs.cancel(job_id, caller.id, record, LIFE_S)
        return done in {Cancellation.CANCELLED, Cancellation.WITHDRAWN}

"""Submit a job, wait for its record, withdraw: for requests, and for jobs that need other jobs.

A job that the store loses in the meantime, as a failover may, is submitted again: the store does
not know that it ever was there.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, Protocol

from jobs import tracing
from jobs.backoff import Backoff
from jobs.deadline import Deadline
from jobs.kind import Job, JobKind
from jobs.work_context import job_id, request_id
from store.errors import CallerBytesFull, JobLost, QueueFull, StoreUnavailable
from store.jobs.producer import JobProducer
from store.jobs.types import Membership, Priority, SubmitOutcome, Submitted, Waiting
from store.jobs.waiting import ResultWaiter
from store.own_lists import Listing

IsGone = Callable[[], Awaitable[bool]]
MAX_QUEUED_MS: Final = 3_600_000
"""The default time that a job may wait for a worker before it expires."""
MAX_LOSSES: Final = 3
HANG_UP_CHECK_S: Final = 2.0
"""The interval at which a wait checks that its client is still connected."""
WAIT_S: Final = 600.0
"""The maximum time of one look at a result, unless something else bounds the wait."""
FIRST_PAUSE_S: Final = 0.2
MAX_PAUSE_S: Final = 5.0

logger = logging.getLogger(__name__)


class Submit(Protocol):
    """Submits a job."""

    def __call__(self, *, waiting: Waiting | None) -> Awaitable[Submitted]:
        """Submit it; `waiting` is the interest of the request that will wait for it."""


@dataclass(frozen=True, slots=True)
class JobOrder(Generic[Job]):
    """A job, and how its caller wants it done."""

    kind: JobKind[Job]
    job: Job
    caller: str
    priority: Priority = Priority.INTERACTIVE
    queued_ms: int = MAX_QUEUED_MS
    """The time that it may wait for a worker."""
    refresh: bool = False
    timeout_ms: int = 0
    membership: Membership | None = None
    listing: Listing | None = None
    """The list of its caller that shows it; None for a job that another job needs."""
    equal_name: str = ""
    """A living job that was submitted with the same name is joined instead; "" joins none."""
    payload: bytes | None = None
    """The job as it is queued, if it is written already: a long one takes a thread."""

    @property
    def job_id(self) -> str:
        """The id of its job."""
        return self.kind.id_of(self.job)

    def cancelled_record(self) -> bytes:
        """Return the job's record after its last caller withdrew."""
        return self.kind.cancelled_of(self.job)


@dataclass(frozen=True, slots=True)
class WaitingClient:
    """A client whose wait keeps its job alive even if all others withdraw.

    A client that is answered before there is a record is expected to ask again, so its caller's
    standing interest replaces the one of its wait; that of a client that has hung up is withdrawn.
    """

    caller: str
    cancelled_record: Callable[[], bytes]
    """Makes the job's record after its last caller withdrew."""
    is_gone: IsGone | None = None
    only_for: str = ""
    """The id of the job where the caller wants it for this wait alone: the interest in it ends with
    the wait, however that ends."""

    def interest(self, deadline: Deadline) -> Waiting | None:
        """Return the interest of one wait, None when there is no time to wait."""
        if not deadline.left_ms:
            return None
        return Waiting(secrets.token_hex(8), deadline.left_ms, is_only=bool(self.only_for))


@dataclass(frozen=True, slots=True)
class JobClient:
    """The side of the queue where jobs are wanted."""

    jobs: JobProducer
    results: ResultWaiter

    async def submit(self, order: JobOrder[Job], *, waiting: Waiting | None = None) -> Submitted:
        """Submit a job. Raises QueueFull, StoreUnavailable."""
        kind, job, needed_by = order.kind, order.job, job_id()
        submitted = await self.jobs.submit(
            order.job_id,
            lane=kind.lane(job),
            priority=order.priority,
            payload=kind.written(job) if order.payload is None else order.payload,
            caller=order.caller,
            deadline_ms=order.queued_ms,
            refresh=order.refresh,
            timeout_ms=order.timeout_ms,
            waiting=waiting,
            membership=order.membership,
            keeps_payload=kind.keeps_payload,
            request_id=request_id(),
            traceparent=tracing.traceparent(),
            listing=order.listing,
            equal_name=order.equal_name,
        )
        logger.debug(
            "job %s: submitted as a %s, %s, for request %s of job %s",
            *(order.job_id, kind.noun, submitted.outcome, request_id(), needed_by),
        )
        return submitted

    async def submit_when_there_is_room(
        self, order: JobOrder[Job], *, waiting: Waiting | None = None
    ) -> Submitted:
        """Submit a job, as soon as the queue takes it.

        Raises CallerBytesFull: waiting makes no room for that, and StoreUnavailable.
        """
        backoff = Backoff(FIRST_PAUSE_S, MAX_PAUSE_S)
        while True:
            try:
                return await self.submit(order, waiting=waiting)
            except CallerBytesFull:
                raise
            except QueueFull as error:
                logger.info("waiting for room in the queue: %s", error)
                await asyncio.sleep(backoff.next_s())

    async def done_within(self, deadline: Deadline, order: JobOrder[Job]) -> bytes:
        """Return the record of a job that another job needs; a full queue is waited for.

        The interest in it ends with the wait. Raises DeadlinePassed, CallerBytesFull.
        """
        submit = partial(self.submit_when_there_is_room, order)
        client = WaitingClient(order.caller, order.cancelled_record, only_for=order.job_id)
        async with deadline.bounding():
            _, record = await self.submit_and_wait(submit, deadline, client)
        if record is None:
            raise deadline.passed
        return record

    async def submit_and_wait(
        self, submit: Submit, deadline: Deadline | None, client: WaitingClient | None = None
    ) -> tuple[Submitted, bytes | None]:
        """Return what became of the submit, and the job's record if there is one by the deadline.

        Without a `client` the job goes on whether or not a request waits; without a deadline it is
        waited for as long as it takes. Raises what `submit` raises, and JobLost when the store
        loses the job again and again.
        """
        losses = 0
        while True:
            try:
                return await self._submit_and_wait_once(submit, deadline, client)
            except JobLost:
                losses += 1
                if deadline is not None and losses == MAX_LOSSES:
                    raise

    async def _submit_and_wait_once(
        self, submit: Submit, deadline: Deadline | None, client: WaitingClient | None
    ) -> tuple[Submitted, bytes | None]:
        waiting = client.interest(deadline) if client is not None and deadline is not None else None
        record = None
        try:
            submitted = await submit(waiting=waiting)
            if submitted.outcome is SubmitOutcome.HIT:
                record = submitted.record
            elif client is not None and waiting is not None and deadline is not None:
                record = await self.wait_as_client(submitted.job_id, waiting, deadline, client)
            else:
                record = await self._wait(submitted.job_id, deadline)
        finally:
            if record is None and waiting is not None and client is not None and client.only_for:
                await self._withdraw(waiting, client)
        is_over = record is not None or (waiting is not None and waiting.is_only)
        if not is_over and await self.is_lost(submitted.job_id):
            raise JobLost(submitted.job_id)
        return submitted, record

    async def wait_as_client(
        self, job_id: str, waiting: Waiting, deadline: Deadline, client: WaitingClient
    ) -> bytes | None:
        """Return the record of a job that `waiting` was noted for; None by then, or at our end.

        Raises JobLost when the store has lost the job.
        """
        while (left_s := deadline.left_s) > 0 and not self.results.closed:
            slice_s = left_s if client.is_gone is None else min(left_s, HANG_UP_CHECK_S)
            result = await self.results.wait(job_id, slice_s)
            if result is not None:
                return result.record
            if client.is_gone is not None and await client.is_gone():
                await self.jobs.withdraw(job_id, waiting.interest, client.cancelled_record())
                return None
        if not client.only_for:
            await self.jobs.end_wait(job_id, waiting, client.caller, 0)
        return None

    async def is_lost(self, job_id: str) -> bool:
        """Return whether a job that was submitted is neither alive nor over."""
        # in this order: a job that ends in between has its result by then
        return await self.jobs.state(job_id) is None and await self.jobs.result(job_id) is None

    async def _wait(self, job_id: str, deadline: Deadline | None) -> bytes | None:
        """Wait without an interest in the job; without a deadline until it is over."""
        while deadline is None or deadline.left_s > 0:
            result = await self.results.wait(
                job_id, WAIT_S if deadline is None else deadline.left_s
            )
            if result is not None:
                return result.record
            if self.results.closed:
                break
        return None

    async def _withdraw(self, waiting: Waiting, client: WaitingClient) -> None:
        job_id, record = client.only_for, client.cancelled_record()
        try:
            await asyncio.shield(self.jobs.withdraw(job_id, waiting.interest, record))
        except StoreUnavailable as error:  # it ends by itself, with the time of its wait
            logger.warning("cannot withdraw the interest in %s: %s", job_id, error)

"""The consumer: takes jobs of any kind from their lanes, and has each one's handler do it.

It claims jobs, renews their leases, stops those that are revoked, lets jobs finish before the
worker leaves, and ends a job whose handler failed by our mistake. Handlers know none of that.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Generic

from pydantic import BaseModel

from jobs import tracing
from jobs.kind import Job, JobKind
from jobs.work_context import CALLER_ID, KEY, REQUEST_ID, WORK, WORKER
from jobs.work_metrics import WorkMetrics
from store import workers
from store.connection import StoreClient
from store.errors import RecordRefused, StoreUnavailable
from store.jobs.consumer import JobConsumer, Revocations
from store.jobs.types import Claim, JobEnd, QueueLimits, device_class_of, kind_of
from store.usage import Used
from worker import job_account
from worker.job_account import JobAccount
from worker.pool.zygote_client import ZygoteError
from worker.slots import HEARTBEAT_S, Slots, every, leave

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Attempt(Generic[Job]):
    """One attempt at a job: what was claimed, its contents, and the way to hand in its record."""

    claim: Claim
    kind: JobKind[Job]
    job: Job
    attempts: JobConsumer
    metrics: WorkMetrics
    used: JobAccount
    """Time that it has used so far."""

    @property
    def queue_ms(self) -> float:
        """The time from the submission to the claim."""
        return float(self.claim.started_at_ms - self.claim.submitted_at_ms)

    async def finish(self, record: BaseModel | bytes, *, reusable: bool, keep_s: int) -> bool:
        """End the job with `record`; False: the attempt no longer counts, or there is no room.

        A job whose record the store refuses ends with a failure that gives the reason.
        """
        written = record if isinstance(record, bytes) else self._written(record)
        try:
            return await self._finish(JobEnd(written, reusable, keep_s))
        except RecordRefused as refusal:
            end, problem = self.kind.refused(self.job, refusal)
            logger.warning("the record of %s is not kept: %s", self.claim.id, refusal)
            self.metrics.failed(problem.slug)
            await self._finish(end)
            return False

    async def _finish(self, end: JobEnd) -> bool:
        claim = self.claim
        is_on_gpu = device_class_of(claim.lane) is not None
        used_s = self.used.gpu_s if is_on_gpu else self.used.children_s
        with tracing.span("finish", {}):
            counts = await self.attempts.finish(
                claim.id,
                claim.token,
                end.record,
                reusable=end.reusable,
                keep_s=end.keep_s,
                used_ms=round(used_s * 1000),
            )
        logger.debug(
            "job %s: finished with a record of %d bytes, kept %d s%s",
            *(claim.id, len(end.record), end.keep_s, "" if counts else "; the claim was lost"),
        )
        return counts

    def _written(self, record: BaseModel) -> bytes:
        self.metrics.ended(getattr(record, "problem", None))
        return record.model_dump_json(by_alias=True).encode()


@dataclass(frozen=True, slots=True)
class Handler(Generic[Job]):
    """Does the jobs of one kind: `do` must finish its attempt.

    StoreUnavailable and ZygoteError give the job to another attempt. Any other error is an
    internal one, and ends the job with a record that reports it.
    """

    kind: JobKind[Job]
    do: Callable[[Attempt[Job]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Queue:
    """The connection to the queue, and for how long a worker may be silent."""

    redis: StoreClient
    blocking: StoreClient
    lease_s: float
    metrics: WorkMetrics = field(default_factory=WorkMetrics)

    def attempts(self, name: str) -> JobConsumer:
        """Return the consumer's side of the job protocol under `name`."""
        limits = QueueLimits(lease_ms=int(self.lease_s * 1000))
        return JobConsumer(self.redis, self.blocking, name, limits)


class Consumer:
    """Does the jobs of `lanes`, at most `count` at a time and one more for a new caller.

    `lanes` may change while it runs. What is in `each_heartbeat` also runs every few seconds.
    With a `registration` the worker that it returns is listed for as long as this runs. A consumer
    that only waits for other jobs `gives_back_at_once` what it has when the worker leaves.
    """

    def __init__(
        self,
        queue: Queue,
        name: str,
        lanes: Sequence[str],
        handlers: Iterable[Handler[Any]],
        count: int,
        *,
        most_yielded: int = 0,
        each_heartbeat: Iterable[Callable[[], Awaitable[object]]] = (),
        registration: Callable[[], workers.Worker | None] | None = None,
        gives_back_at_once: bool = False,
    ) -> None:
        self.name = name
        self._queue = queue
        self._handlers: Mapping[str, Handler[Any]] = {each.kind.name: each for each in handlers}
        self._registry = workers.Workers(queue.redis)
        self._registration = registration
        self._each_heartbeat = list(each_heartbeat)
        self._gives_back_at_once = gives_back_at_once
        self._taking: asyncio.Task[None] | None = None
        self._slots = Slots(
            queue.attempts(name),
            lanes,
            self._do,
            count,
            queue.lease_s,
            has_reserve=True,
            most_yielded=most_yielded,
        )

    @property
    def count(self) -> int:
        """The number of jobs that it may run at a time."""
        return self._slots.count

    @property
    def busy(self) -> int:
        """The number of jobs that it runs now."""
        return self._slots.busy

    def yield_slot(self) -> AbstractContextManager[None]:
        """Give the slot of a running job to another while the block runs."""
        return self._slots.yield_slot()

    async def run(self) -> None:
        """Do jobs until cancelled, when unfinished ones are given back."""
        acts = [*self._each_heartbeat, *([self.register] if self._registration else [])]
        try:
            async with asyncio.TaskGroup() as group:
                self._taking = group.create_task(self._slots.run())
                group.create_task(Revocations(self._queue.blocking, self._slots.revoke).run())
                for act in acts:
                    group.create_task(every(HEARTBEAT_S, act))
        finally:
            if self._registration:
                await leave(self._registry, self.name)

    async def register(self) -> None:
        """Publish the registration now, if there is one."""
        worker = self._registration() if self._registration else None
        if worker is not None:
            await self._registry.beat(worker)

    async def drain(self) -> None:
        """Take no further job, and return when those that run have ended, as `run` does."""
        if self._taking is None:
            return
        if self._gives_back_at_once:
            self._taking.cancel()
            await asyncio.gather(self._taking, return_exceptions=True)
        else:
            await self._slots.drain()

    async def _do(self, claim: Claim, attempts: JobConsumer) -> None:
        handler = self._handlers[kind_of(claim.lane)]
        job = handler.kind.read(claim.payload)
        metrics, used = self._queue.metrics, job_account.begin()
        WORK.set(
            {
                REQUEST_ID: claim.request_id,
                KEY: claim.id,
                CALLER_ID: claim.caller,
                WORKER: self.name,
            }
        )
        attempt = Attempt(claim, handler.kind, job, attempts, metrics, used)
        logger.debug(
            "job %s: claimed from %s after %d ms, delivery %d, for request %s",
            *(claim.id, claim.lane, attempt.queue_ms, claim.deliveries, claim.request_id),
        )
        metrics.queue_wait.labels(claim.lane).observe(attempt.queue_ms / 1000)
        began_s = claim.started_at_ms / 1000
        tracing.past_span("queue", claim.submitted_at_ms / 1000, began_s, claim.traceparent)
        about = {"tritond.key": claim.id, "tritond.kind": handler.kind.name}
        try:
            with tracing.span("attempt", about, claim.traceparent):
                await handler.do(attempt)
        except (StoreUnavailable, ZygoteError):
            raise
        except Exception:
            # our own bug must end the job too, or every worker would retry it
            logger.exception("%s %s failed with an internal error", handler.kind.noun, claim.id)
            end = handler.kind.mistake(job)
            metrics.failed(handler.kind.failure_slug)
            await attempt.finish(end.record, reusable=end.reusable, keep_s=end.keep_s)
        finally:
            if (device := device_class_of(claim.lane)) is not None:
                metrics.gpu_busy.labels(device).inc(used.gpu_s)
            metrics.usage.note(claim.caller, Used(cpu_seconds=used.cpu_s, gpu_seconds=used.gpu_s))


async def run_until(
    gone: Coroutine[Any, Any, str],
    work: Coroutine[Any, Any, None],
    at_end: Callable[[str], Awaitable[None]],
) -> None:
    """Do `work` until cancelled, or until `gone` returns the reason why it must end.

    `at_end` gets that reason while the work still runs.
    """
    ended, working = asyncio.create_task(gone), asyncio.create_task(work)
    try:
        await asyncio.wait({ended, working}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await at_end(ended.result())
    finally:
        for task in (ended, working):
            task.cancel()
        await asyncio.gather(ended, working, return_exceptions=True)
    if not working.cancelled() and (error := working.exception()):
        raise error

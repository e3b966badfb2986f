"""The callers' side of the job protocol: submit a job, ask about it, withdraw interest in it."""

from collections.abc import Sequence
from typing import Any, cast

from redis.asyncio import Redis

from store import keys, scripts
from store.errors import CallerBytesFull, CallerQueueFull, GpuTimeSpent, QueueBytesFull, QueueFull
from store.events import LIFE_MS
from store.jobs.types import (
    KEPT_S,
    Cancellation,
    JobStatus,
    LaneLoad,
    Membership,
    Priority,
    QueueLimits,
    Result,
    Standing,
    State,
    SubmitOutcome,
    Submitted,
    Waiting,
    device_class_of,
    interest_of_batch,
    interest_of_caller,
)
from store.own_lists import MAX_LISTED, Listing

INTEREST_GRACE_MS = 5_000
"""The time that a request's interest outlives its wait, unless its service ends it."""


class JobProducer:
    """Jobs as their callers see them. A caller is any non-empty id; equal ids share their turns."""

    def __init__(self, redis: Redis, limits: QueueLimits | None = None) -> None:
        self._redis = redis
        self._limits = limits or QueueLimits()
        self._submit = scripts.load(redis, "submit", shared="lane")
        self._cancel = scripts.load(redis, "cancel", shared="lane")
        self._change_interest = scripts.load(redis, "change_interest", shared="lane")
        self._state = scripts.load(redis, "state", shared="lane")
        self._lanes = scripts.load(redis, "lanes", shared="lane")

    async def submit(
        self,
        job_id: str,
        *,
        lane: str,
        priority: Priority,
        payload: bytes,
        caller: str,
        deadline_ms: int,
        refresh: bool = False,
        timeout_ms: int = 0,
        waiting: Waiting | None = None,
        membership: Membership | None = None,
        keeps_payload: bool = False,
        request_id: str = "",
        traceparent: str = "",
        listing: Listing | None = None,
        equal_name: str = "",
    ) -> Submitted:
        """Have the job done: answer from a recent result, join the living job, or create it.

        `deadline_ms` counts from now and bounds the time in the queue, `timeout_ms` the execution.
        A join raises the priority and extends both. With `refresh` recent results do not count and
        a queued job becomes a refresh; a running attempt is joined (`Submitted.is_older`). The
        caller's interest lasts until it is cancelled, and so does that of a `waiting` request, or
        alone if it `is_only`. The batch of `membership` is informed when the job is over;
        the interest is then the batch's, unless the job is `of_batch_alone` and cancelled like any
        other.

        With `keeps_payload` it is kept as long as the result is, for `kept_payload`. `listing` is
        the list of its caller in which it is from then on. A living job that was submitted with the
        same `equal_name` is joined in place of `job_id`: `Submitted` has the id of that job.

        Errors: `QueueFull`, `QueueBytesFull`, `CallerQueueFull`, `CallerBytesFull`,
        `GpuTimeSpent`, `StoreUnavailable`.
        """
        if not caller:
            raise ValueError("A job needs a caller: the id must not be empty.")
        limits = self._limits
        args: list[str | int | bytes] = [
            *(job_id, lane, priority.value, payload, caller, deadline_ms, int(refresh)),
            *(limits.queued, limits.queued_per_caller, LIFE_MS),
            *((membership.batch_id, membership.indices) if membership else ("", "")),
            "" if waiting and waiting.is_only else _interest_of(caller, membership),
            timeout_ms,
            *((waiting.interest, waiting.wait_ms + INTEREST_GRACE_MS) if waiting else ("", 0)),
            *(limits.living_bytes, limits.kept_bytes_per_caller, int(keeps_payload)),
            *(request_id, int(device_class_of(lane) is not None), traceparent),
            *((listing.collection, listing.life_s * 1000, MAX_LISTED) if listing else ("", 0, 0)),
            equal_name,
        ]
        return self._submitted(job_id, lane, await self._submit(args=args))

    def _submitted(self, job_id: str, lane: str, answer: Sequence[bytes]) -> Submitted:
        """Return what the script answered. Raises its refusals."""
        limits = self._limits
        match answer[0]:
            case b"queue_full":
                raise QueueFull(lane, limits.queued)
            case b"caller_queue_full":
                raise CallerQueueFull(lane, limits.queued_per_caller)
            case b"bytes_full":
                raise QueueBytesFull(lane, limits.living_bytes)
            case b"caller_bytes_full":
                raise CallerBytesFull(lane, limits.kept_bytes_per_caller)
            case b"gpu_time_spent":
                raise GpuTimeSpent(lane, float(answer[1]), int(answer[2]))
            case b"hit":
                return Submitted(job_id, SubmitOutcome.HIT, answer[1])
            case b"join":
                is_older, joined = answer[1:]
                return Submitted(joined.decode(), SubmitOutcome.JOIN, is_older=is_older == b"1")
        return Submitted(job_id, SubmitOutcome(answer[0].decode()))

    async def cancel(
        self, job_id: str, caller: str, record: bytes, keep_s: int = KEPT_S
    ) -> Cancellation:
        """Withdraw `caller`'s interest; without any interest left the job ends with `record`.

        What requests of the same caller wait for now goes on.
        """
        return await self.withdraw(job_id, interest_of_caller(caller), record, keep_s)

    async def withdraw(
        self, job_id: str, interest: str, record: bytes, keep_s: int = KEPT_S
    ) -> Cancellation:
        """Withdraw one interest; without any interest left the job ends with `record`."""
        answer = await self._cancel(args=[job_id, interest, record, keep_s * 1000])
        return Cancellation(answer.decode())

    async def begin_wait(self, job_id: str, waiting: Waiting) -> bool:
        """Note that a request begins to wait for the job; False when no such job lives."""
        until_ms = waiting.wait_ms + INTEREST_GRACE_MS
        return bool(
            await self._change_interest(args=[job_id, waiting.interest, until_ms, "", 0, ""])
        )

    async def end_wait(self, job_id: str, waiting: Waiting, caller: str, timeout_ms: int) -> None:
        """Note that a request has waited in vain: its caller's standing interest replaces it."""
        standing = interest_of_caller(caller)
        await self._change_interest(
            args=[job_id, standing, 0, caller, timeout_ms, waiting.interest]
        )

    async def state(self, job_id: str) -> JobStatus | None:
        """Return where a living job is, None when it is over or unknown."""
        answer = await self._state(args=[job_id])
        if answer is None:
            return None
        state, priority, attempt, submitted_ms, started_ms, position = answer
        running = state == b"running"
        return JobStatus(
            state=State(state.decode()),
            priority=Priority(priority.decode()),
            attempt=int(attempt),
            submitted_at_ms=int(submitted_ms),
            started_at_ms=int(started_ms) if running else None,
            position=None if running else int(position),
        )

    async def payload(self, job_id: str) -> bytes | None:
        """Return what a living job was submitted with."""
        payload: Any = await self._redis.hget(keys.JOB + job_id, "payload")
        return cast("bytes | None", payload)

    async def lane(self, job_id: str) -> str | None:
        """Return the lane that a living job was submitted to; `kind_of` it is what the job is."""
        lane: Any = await self._redis.hget(keys.JOB + job_id, "lane")
        return None if lane is None else str(lane.decode())

    async def kept_payload(self, job_id: str) -> bytes | None:
        """Return what a job was submitted with, as long as it lives or its result is kept."""
        # both at once: a job that is withdrawn and submitted again moves there and back
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.hget(keys.JOB + job_id, "payload")
        pipeline.hget(keys.RESULT + job_id, "payload")
        living, kept = await pipeline.execute()
        return cast("bytes | None", kept if living is None else living)

    async def result(self, job_id: str) -> Result | None:
        """Return how the job ended, as long as that is kept."""
        fields: Any = await self._redis.hmget(keys.RESULT + job_id, "record", "reusable")
        record, reusable = fields
        return None if record is None else Result(record, reusable == b"1")

    async def results(self, job_ids: Sequence[str]) -> list[Result | None]:
        """Return how each of the jobs ended, None where that is not kept, in one round trip."""
        pipeline = self._redis.pipeline(transaction=False)
        for job_id in job_ids:
            pipeline.hmget(keys.RESULT + job_id, "record", "reusable")
        replies = await pipeline.execute()
        return [None if record is None else Result(record, r == b"1") for record, r in replies]

    async def sizes(self, job_ids: Sequence[str]) -> list[int]:
        """Return the bytes of each job's record, 0 where none is kept, in one round trip."""
        pipeline = self._redis.pipeline(transaction=False)
        for job_id in job_ids:
            pipeline.hstrlen(keys.RESULT + job_id, "record")
        return list(await pipeline.execute())

    async def states(self, job_ids: Sequence[str]) -> list[State | None]:
        """Return the state of each living job, None where it is over, in one round trip."""
        pipeline = self._redis.pipeline(transaction=False)
        for job_id in job_ids:
            pipeline.hget(keys.JOB + job_id, "state")
        replies = await pipeline.execute()
        return [None if state is None else State(state.decode()) for state in replies]

    async def standings(self, job_ids: Sequence[str], limit_bytes: int) -> list[Standing]:
        """Return what is kept of the first of the jobs that take `limit_bytes`, at least of one.

        A list shows many jobs, whose records may be large.
        """
        pipeline = self._redis.pipeline(transaction=False)
        for job_id in job_ids:
            pipeline.hstrlen(keys.RESULT + job_id, "record")
            pipeline.hstrlen(keys.RESULT + job_id, "payload")
            pipeline.hstrlen(keys.JOB + job_id, "payload")
        sizes: list[int] = await pipeline.execute()
        left_bytes = limit_bytes
        for index, job_id in enumerate(job_ids):
            left_bytes -= sum(sizes[3 * index : 3 * index + 3])
            if left_bytes < 0 and index:
                break
            # in this order: a job that ends in between has its result by then
            pipeline.hmget(keys.JOB + job_id, "state", "payload")
            pipeline.hmget(keys.RESULT + job_id, "record", "payload")
        replies = await pipeline.execute()
        return [
            Standing(state and state.decode(), record, kept if record else payload)
            for (state, payload), (record, kept) in zip(replies[::2], replies[1::2], strict=True)
        ]

    async def forget(self, job_id: str) -> None:
        """Delete the result (a purge), so that the next submit is not answered with it."""
        await self._redis.delete(keys.RESULT + job_id)

    async def queued(self, lane: str) -> int:
        """Return how many jobs of `lane` wait for a worker."""
        return int(await self._redis.zcard(keys.QUEUED + lane))

    async def load(self, lanes: Sequence[str]) -> dict[str, LaneLoad]:
        """Return what waits in each of `lanes`, in one round trip."""
        answers = await self._lanes(args=list(lanes))
        return {lane: LaneLoad(*answer) for lane, answer in zip(lanes, answers, strict=True)}

    async def lanes_of_running(self) -> frozenset[str]:
        """Return the lanes of all jobs that run: of as many as the deployment has slots."""
        running: Any = await self._redis.zrange(keys.LEASES, 0, -1)
        pipeline = self._redis.pipeline(transaction=False)
        for job_id in running:
            pipeline.hget(keys.JOB + job_id.decode(), "lane")
        return frozenset(lane.decode() for lane in await pipeline.execute() if lane is not None)


def _interest_of(caller: str, membership: Membership | None) -> str:
    if membership is None or membership.of_batch_alone:
        return interest_of_caller(caller)
    return interest_of_batch(membership.batch_id)

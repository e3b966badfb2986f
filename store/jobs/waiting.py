"""Waiting for the results of jobs: many waiters, one subscription and one reader per process.

A publication only makes it faster. Every awaited result is read again each second and after each
reconnection, so a publication that was lost costs a second and never a hanging request.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from redis.asyncio import Redis

from store import keys
from store.errors import JobLost, StoreUnavailable
from store.jobs.types import Result
from store.subscription import Subscription

READ_AGAIN_S: Final = 1.0
READ_AT_ONCE: Final = 256
"""Jobs of one command: a step of the event loop packs it, and one unpacks its answer."""


@dataclass(slots=True)
class _Awaited:
    future: asyncio.Future[Result | None]
    waiters: int = 0


class ResultWaiter:
    """Waits for the results of jobs. `run()` must be running for anyone to be woken."""

    def __init__(self, redis: Redis, blocking: Redis) -> None:
        self._redis = redis
        self._awaited: dict[str, _Awaited] = {}
        self._due: set[str] = set()
        self._changed = asyncio.Event()
        self._closed = False
        self._subscription = Subscription(
            blocking, keys.FINISHED, self._on_finished, on_connect=self._read_all
        )

    @property
    def connected(self) -> bool:
        """True if publications arrive now."""
        return self._subscription.connected

    @property
    def closed(self) -> bool:
        """True if there are no waiters left."""
        return self._closed

    def close(self) -> None:
        """Answer None to all current and future waiters, because this process stops."""
        self._closed = True
        awaited, self._awaited = self._awaited, {}
        for each in awaited.values():
            each.future.set_result(None)

    async def run(self) -> None:
        """Wake waiters until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._subscription.run())
            tasks.create_task(self._read())

    async def wait(self, job_id: str, timeout_s: float) -> Result | None:
        """Return the result of the job as soon as there is one, None after `timeout_s` or `close`.

        Raises JobLost when there is neither a job (or batch) of this id nor a result any more.
        """
        awaited = self._awaited.get(job_id)
        if awaited is None:
            awaited = _Awaited(asyncio.get_running_loop().create_future())
            self._awaited[job_id] = awaited
            self._schedule_read(job_id)
        awaited.waiters += 1
        try:
            if not self._closed:
                await asyncio.wait([awaited.future], timeout=timeout_s)
        finally:
            awaited.waiters -= 1
            if not awaited.waiters and self._awaited.get(job_id) is awaited:
                del self._awaited[job_id]
        return awaited.future.result() if awaited.future.done() else None

    def _on_finished(self, message: bytes) -> None:
        job_id = message.decode()
        if job_id in self._awaited:
            self._schedule_read(job_id)

    def _schedule_read(self, *job_ids: str) -> None:
        self._due.update(job_ids)
        self._changed.set()

    def _read_all(self) -> None:
        self._schedule_read(*self._awaited)

    async def _read(self) -> None:
        clock = asyncio.get_running_loop().time
        next_full_read = clock() + READ_AGAIN_S
        while True:
            try:
                async with asyncio.timeout_at(next_full_read):
                    await self._changed.wait()
            except TimeoutError:
                self._read_all()
                next_full_read = clock() + READ_AGAIN_S
            self._changed.clear()
            due, self._due = self._due & self._awaited.keys(), set()
            ordered = sorted(due)
            for at in range(0, len(ordered), READ_AT_ONCE):
                await self._read_due(ordered[at : at + READ_AT_ONCE])

    async def _read_due(self, job_ids: list[str]) -> None:
        pipeline = self._redis.pipeline(transaction=False)
        for job_id in job_ids:
            # in this order: a job that ends in between has its result by then
            pipeline.exists(keys.JOB + job_id, keys.BATCH + job_id)
            pipeline.hmget(keys.RESULT + job_id, "record", "reusable")
        try:
            replies = await pipeline.execute()
        except StoreUnavailable:
            return  # read again within a second; the waiters have their own time limits
        for job_id, lives, (record, reusable) in zip(
            job_ids, replies[::2], replies[1::2], strict=True
        ):
            if record is not None:
                self._resolve(job_id, Result(record, reusable == b"1"))
            elif not lives:
                self._resolve(job_id, JobLost(job_id))

    def _resolve(self, job_id: str, end: Result | JobLost) -> None:
        awaited = self._awaited.pop(job_id, None)
        if awaited is None:
            return
        if isinstance(end, JobLost):
            awaited.future.set_exception(end)
        else:
            awaited.future.set_result(end)

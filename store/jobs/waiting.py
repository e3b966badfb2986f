"""Waiting for jobs to be over: many waiters, one subscription and one reader per process.

A publication only makes it faster. Every awaited result is read again each second and after each
reconnection, so a publication that was lost costs a second and never a hanging request.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from redis.asyncio import Redis

from store import keys
from store.errors import StoreUnavailable
from store.jobs.words import Result
from store.subscription import Subscription

READ_AGAIN_S: Final = 1.0


@dataclass(slots=True)
class _Awaited:
    future: asyncio.Future[Result]
    waiters: int = 0


class Finished:
    """The results that this process waits for. `run()` must be running for anyone to be woken."""

    def __init__(self, redis: Redis, blocking: Redis) -> None:
        self._redis = redis
        self._awaited: dict[str, _Awaited] = {}
        self._due: set[str] = set()
        self._news = asyncio.Event()
        self._subscription = Subscription(
            blocking, keys.FINISHED, self._on_finished, on_connect=self._read_all
        )

    async def run(self) -> None:
        """Wake waiters until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._subscription.run())
            tasks.create_task(self._read())

    async def wait(self, job_id: str, timeout_s: float) -> Result | None:
        """Return the result of the job as soon as there is one, None after `timeout_s`."""
        awaited = self._awaited.get(job_id)
        if awaited is None:
            awaited = _Awaited(asyncio.get_running_loop().create_future())
            self._awaited[job_id] = awaited
            self._look(job_id)
        awaited.waiters += 1
        try:
            await asyncio.wait([awaited.future], timeout=timeout_s)
        finally:
            awaited.waiters -= 1
            if not awaited.waiters and self._awaited.get(job_id) is awaited:
                del self._awaited[job_id]
        return awaited.future.result() if awaited.future.done() else None

    def _on_finished(self, message: bytes) -> None:
        job_id = message.decode()
        if job_id in self._awaited:
            self._look(job_id)

    def _look(self, *job_ids: str) -> None:
        self._due.update(job_ids)
        self._news.set()

    def _read_all(self) -> None:
        self._look(*self._awaited)

    async def _read(self) -> None:
        clock = asyncio.get_running_loop().time
        next_full_read = clock() + READ_AGAIN_S
        while True:
            try:
                async with asyncio.timeout_at(next_full_read):
                    await self._news.wait()
            except TimeoutError:
                self._read_all()
                next_full_read = clock() + READ_AGAIN_S
            self._news.clear()
            due, self._due = self._due & self._awaited.keys(), set()
            if due:
                await self._resolve(sorted(due))

    async def _resolve(self, job_ids: list[str]) -> None:
        pipeline = self._redis.pipeline(transaction=False)
        for job_id in job_ids:
            pipeline.hmget(keys.RESULT + job_id, "record", "reusable")
        try:
            found = await pipeline.execute()
        except StoreUnavailable:
            return  # read again within a second; the waiters have their own time limits
        for job_id, (record, reusable) in zip(job_ids, found, strict=True):
            if record is not None and (awaited := self._awaited.pop(job_id, None)):
                awaited.future.set_result(Result(record, reusable == b"1"))

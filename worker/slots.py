"""The slots of a worker: it claims a job only when a slot is free.

A worker renews the leases of its running jobs, and stops a job that lost its lease or was
cancelled. While the store is unavailable, everything waits for it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from jobs.backoff import Backoff
from store.errors import StoreUnavailable
from store.jobs.consumer import JobConsumer
from store.jobs.types import Claim, Heartbeat, Revocation
from store.stored import Unreadable
from store.workers import Workers
from worker.cancellation import run_to_end
from worker.pool.zygote_client import ZygoteError

HEARTBEAT_S = 4.0
SWEEP_S = 5.0
FIRST_PAUSE_S = 0.2
MAX_PAUSE_S = 5.0

_T = TypeVar("_T")
logger = logging.getLogger(__name__)


async def every(seconds: float, act: Callable[[], Awaitable[object]]) -> None:
    """Do `act` every `seconds` until cancelled; a store that is away is waited for."""
    while True:
        await once_available(act)
        await asyncio.sleep(seconds)


async def once_available(act: Callable[[], Awaitable[_T]]) -> _T:
    """Return what `act` does, tried until the store is there for it."""
    backoff = Backoff(FIRST_PAUSE_S, MAX_PAUSE_S)
    while True:
        try:
            return await act()
        except StoreUnavailable as error:
            logger.warning("the store is unavailable; retrying: %s", error)
            await asyncio.sleep(backoff.next_s())


async def leave(registry: Workers, name: str) -> None:
    """Take the worker `name` off the list; where the store is away, its heartbeat ends that."""
    try:
        await registry.unregister(name)
    except StoreUnavailable as error:
        logger.warning("cannot unregister worker %s: %s", name, error)


WAIT_S = 10.0
RENEWALS_PER_LEASE = 5
STORE_PAUSE_S = 0.5
MAX_STORE_PAUSE_S = 5.0

DoJob = Callable[[Claim, JobConsumer], Coroutine[Any, Any, None]]


class Slots:
    """Runs `do_job` for claims of `lanes`, at most `count` at a time.

    With a reserve, one more job may run while all slots are taken: interactive work of a caller
    without a running job. So one caller's long jobs cannot block other callers. A job that
    waits for other jobs can yield its slot (`yield_slot`), up to `most_yielded` jobs at a time.
    """

    def __init__(
        self,
        attempts: JobConsumer,
        lanes: Sequence[str],
        do_job: DoJob,
        count: int,
        lease_s: float,
        *,
        has_reserve: bool = False,
        most_yielded: int = 0,
    ) -> None:
        self.count = count
        self._has_reserve = has_reserve
        self._most_yielded = most_yielded
        self._yielded = 0
        self._taken = 0
        self._full, self._room = asyncio.Event(), asyncio.Event()
        self._room.set()
        self._renew_s = lease_s / RENEWALS_PER_LEASE
        self._attempts = attempts
        self._lanes = lanes
        self._do_job = do_job
        self._draining = asyncio.Event()
        self._drained = asyncio.Event()
        self._running: dict[tuple[str, int], asyncio.Task[None]] = {}

    @property
    def busy(self) -> int:
        """The number of jobs in slots now, the one in reserve included."""
        return len(self._running) - self._yielded

    @contextmanager
    def yield_slot(self) -> Iterator[None]:
        """Give the slot of a running job to another while the block runs, and then take one more.

        The job does not wait to return, so more than `count` jobs may run for a while.
        """
        if self._yielded >= self._most_yielded:
            yield
            return
        self._yielded += 1
        self._vacate()
        try:
            yield
        finally:
            self._yielded -= 1
            self._occupy()

    def revoke(self, revocation: Revocation) -> None:
        """Stop the attempt that `revocation` is about, if it runs here."""
        task = self._running.get((revocation.id, revocation.token))
        if task is not None:
            task.cancel()

    async def drain(self) -> None:
        """Take no further job, and return when those that run have ended, as `run` does."""
        self._draining.set()
        await self._drained.wait()

    async def run(self) -> None:
        """Take and do jobs until cancelled, when unfinished ones are given back, or drained."""
        try:
            async with asyncio.TaskGroup() as group:
                taking = [group.create_task(self._take(group))]
                if self._has_reserve:
                    taking.append(group.create_task(self._take_reserved(group)))
                await self._draining.wait()
                for task in taking:
                    task.cancel()
        finally:
            self._drained.set()

    async def _take(self, group: asyncio.TaskGroup) -> None:
        backoff = Backoff(STORE_PAUSE_S, MAX_STORE_PAUSE_S)
        while True:
            await self._room.wait()
            try:
                claim = await self._claim()
                if claim is not None:
                    group.create_task(self._hold_slot(claim))
                if claim is None or self._room.is_set():
                    await self._attempts.wait_for_work(WAIT_S)
                backoff.reset()
            except StoreUnavailable as error:
                logger.warning("cannot claim a job; retrying: %s", error)
                await asyncio.sleep(backoff.next_s())

    async def _claim(self) -> Claim | None:
        """Claim a job and the slot for it."""
        claim = await self._whole(self._attempts.claim(self._lanes))
        if claim is not None:
            self._occupy()
        return claim

    def _occupy(self) -> None:
        self._taken += 1
        if self._taken >= self.count:
            self._room.clear()
            self._full.set()

    def _vacate(self) -> None:
        self._taken -= 1
        if self._taken < self.count:
            self._room.set()
            self._full.clear()

    async def _take_reserved(self, group: asyncio.TaskGroup) -> None:
        while True:
            await self._full.wait()
            try:
                claim = await self._whole(self._attempts.claim_reserved(self._lanes))
                if claim is None:
                    await self._attempts.wait_for_newcomer(self._lanes, WAIT_S)
            except StoreUnavailable:
                await asyncio.sleep(MAX_STORE_PAUSE_S)  # `_take` has logged it
                continue
            if claim is not None:
                await asyncio.wait([group.create_task(self._hold(claim))])

    async def _whole(self, claiming: Coroutine[Any, Any, Claim | None]) -> Claim | None:
        """Return what is claimed; a running claim is not cut off, but given back."""
        under_way = asyncio.create_task(claiming)

        async def undo() -> None:
            claimed = (await asyncio.gather(under_way, return_exceptions=True))[0]
            if isinstance(claimed, Claim):
                await self._give_back(claimed)

        try:
            return await asyncio.shield(under_way)
        except asyncio.CancelledError:
            await run_to_end(undo())
            raise

    async def _hold_slot(self, claim: Claim) -> None:
        try:
            await self._hold(claim)
        finally:
            self._vacate()

    async def _hold(self, claim: Claim) -> None:
        task = asyncio.create_task(self._do_job(claim, self._attempts))
        self._running[claim.id, claim.token] = task
        try:
            await self._renew_while_running(task, claim)
            await self._conclude(task, claim)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._give_back(claim)
            raise
        finally:
            del self._running[claim.id, claim.token]

    async def _conclude(self, task: asyncio.Task[None], claim: Claim) -> None:
        """Give an unfinished job back, so that another worker takes it soon."""
        if task.cancelled():
            logger.info("job %s was revoked", claim.id)
            return
        error = task.exception()
        if isinstance(error, StoreUnavailable):
            logger.warning("cannot store the result of job %s: %s", claim.id, error)
            await asyncio.sleep(STORE_PAUSE_S)
            await self._give_back(claim)
        elif error is not None:
            # three such ends are its error
            if isinstance(error, ZygoteError):
                logger.warning("job %s needs another attempt: %s", claim.id, error)
            elif isinstance(error, Unreadable):
                logger.error("cannot read job %s: %s", claim.id, error)
            else:
                logger.error("job %s failed with an internal error", claim.id, exc_info=error)
            await self._abandon(claim)

    async def _renew_while_running(self, task: asyncio.Task[None], claim: Claim) -> None:
        while True:
            done, _ = await asyncio.wait([task], timeout=self._renew_s)
            if done:
                return
            try:
                answer = await self._attempts.renew(claim.id, claim.token)
            except StoreUnavailable as error:
                logger.warning("cannot renew the lease of job %s: %s", claim.id, error)
                continue
            if answer is not Heartbeat.OK:
                task.cancel()

    async def _give_back(self, claim: Claim) -> None:
        try:
            await self._attempts.release(claim.id, claim.token)
        except StoreUnavailable as error:
            # then the end of its lease gives it back
            logger.warning("cannot give job %s back to the queue: %s", claim.id, error)

    async def _abandon(self, claim: Claim) -> None:
        try:
            await self._attempts.abandon(claim.id, claim.token)
        except StoreUnavailable as error:
            logger.warning("cannot abandon job %s: %s", claim.id, error)

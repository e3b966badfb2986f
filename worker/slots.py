"""The slots of a worker: each takes a job when it is free, and no job before.

A running job is kept by renewing its lease; it is stopped when the lease is lost or nobody wants
it any more.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from store.errors import StoreUnavailable
from store.jobs.attempts import Attempts
from store.jobs.words import Claim, Heartbeat, Revocation

WAIT_S = 5.0
RENEWALS_PER_LEASE = 5
STORE_PAUSE_S = 1.0

logger = logging.getLogger(__name__)


class Slots:
    """Runs `do_job` for claims of `lanes`, at most `count` at a time."""

    def __init__(
        self,
        open_attempts: Callable[[int], Attempts],
        lanes: Sequence[str],
        do_job: Callable[[Claim, Attempts], Coroutine[Any, Any, None]],
        count: int,
        lease_s: float,
    ) -> None:
        self.count = count
        self._renew_s = lease_s / RENEWALS_PER_LEASE
        self._open_attempts = open_attempts
        self._lanes = lanes
        self._do_job = do_job
        self._running: dict[tuple[str, int], asyncio.Task[None]] = {}

    @property
    def busy(self) -> int:
        """How many slots have a job now."""
        return len(self._running)

    def revoke(self, revocation: Revocation) -> None:
        """Stop the attempt that `revocation` is about, if it runs here."""
        task = self._running.get((revocation.id, revocation.token))
        if task is not None:
            task.cancel()

    async def run(self) -> None:
        """Take and do jobs until cancelled; unfinished ones are given back."""
        async with asyncio.TaskGroup() as tasks:
            for number in range(self.count):
                tasks.create_task(self._serve(self._open_attempts(number)))

    async def _serve(self, attempts: Attempts) -> None:
        while True:
            try:
                claim = await attempts.claim(self._lanes)
                if claim is None:
                    await attempts.wait_for_work(WAIT_S)
                else:
                    await self._hold(claim, attempts)
            except StoreUnavailable as error:
                logger.warning("%s", error)
                await asyncio.sleep(STORE_PAUSE_S)

    async def _hold(self, claim: Claim, attempts: Attempts) -> None:
        task = asyncio.create_task(self._do_job(claim, attempts))
        self._running[claim.id, claim.token] = task
        try:
            await self._renew_while_running(task, claim, attempts)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await _give_back(claim, attempts)
            raise
        finally:
            del self._running[claim.id, claim.token]
        if task.cancelled():
            logger.info("job %s was revoked", claim.id)
        elif error := task.exception():
            # the lease runs out and another worker gets the job; three such ends are its error
            logger.error("job %s could not be handed in: %s", claim.id, error)

    async def _renew_while_running(
        self, task: asyncio.Task[None], claim: Claim, attempts: Attempts
    ) -> None:
        while True:
            done, _ = await asyncio.wait([task], timeout=self._renew_s)
            if done:
                return
            try:
                answer = await attempts.renew(claim.id, claim.token)
            except StoreUnavailable as error:
                logger.warning("lease of %s not renewed: %s", claim.id, error)
                continue
            if answer is not Heartbeat.OK:
                task.cancel()


async def _give_back(claim: Claim, attempts: Attempts) -> None:
    try:
        await attempts.release(claim.id, claim.token)
    except StoreUnavailable as error:
        # then the end of its lease gives it back
        logger.warning("job %s not given back: %s", claim.id, error)

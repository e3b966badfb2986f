"""The workers' side of the job protocol: take a job, keep it, hand in its result, give it back."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from redis.asyncio import Redis

from store import scripts
from store.errors import StoreUnavailable
from store.jobs.words import Claim, Heartbeat, Lapse, Limits, Priority

CONSUMER_IDLE_MS: Final = 600_000
REAPED_AT_ONCE: Final = 100
ANSWER_GRACE_S: Final = 5.0


class Attempts:
    """Attempts at jobs by one consumer (a worker's id, or a reaper's)."""

    def __init__(
        self, redis: Redis, blocking: Redis, consumer: str, limits: Limits | None = None
    ) -> None:
        self._blocking = blocking
        self._consumer = consumer
        self._limits = limits or Limits()
        self._seen: dict[bytes, bytes] = {}
        self._claim = scripts.load(redis, "claim", shared="lane")
        self._renew = scripts.load(redis, "renew", shared="lane")
        self._finish = scripts.load(redis, "finish", shared="lane")
        self._release = scripts.load(redis, "release", shared="lane")
        self._reap = scripts.load(redis, "reap", shared="lane")

    async def claim(self, lanes: Sequence[str]) -> Claim | None:
        """Take the next job of `lanes`, the first preferred; interactive before all batch.

        If the connection breaks before the answer is here, the job waits for its lease to end.
        """
        claim, *rest = await self._claim(args=[self._consumer, self._limits.lease_ms, *lanes])
        if claim is not None:
            return _claim(claim)
        (seen,) = rest
        self._seen = dict(zip(seen[::2], seen[1::2], strict=True))
        return None

    async def wait_for_work(self, timeout_s: float) -> None:
        """Return when a job may have come since the last `claim` found none, or in `timeout_s`.

        It may return early, and does when nothing was ever claimed; then claim again.
        """
        if not self._seen:
            return
        block_ms = max(1, int(timeout_s * 1000))
        try:
            async with asyncio.timeout(timeout_s + ANSWER_GRACE_S):
                streams: dict[Any, Any] = dict(self._seen)
                await self._blocking.xread(streams, count=1, block=block_ms)
        except TimeoutError as error:
            raise StoreUnavailable("The store did not end a blocking read in time.") from error

    async def renew(self, job_id: str, token: int) -> Heartbeat:
        """Begin the lease anew. Beat at least three times per `Limits.lease_ms`."""
        answer = await self._renew(args=[job_id, token, self._limits.lease_ms])
        return Heartbeat(answer.decode())

    async def finish(
        self, job_id: str, token: int, record: bytes, *, reusable: bool, keep_s: int
    ) -> bool:
        """End the job with `record`, kept for `keep_s`; False: the attempt no longer counts.

        `reusable` says whether a later submit may be answered with it.
        """
        keep_ms = keep_s * 1000
        return bool(await self._finish(args=[job_id, token, record, int(reusable), keep_ms]))

    async def release(self, job_id: str, token: int) -> bool:
        """Give the job back because this worker stops; False: the attempt no longer counts."""
        return bool(await self._release(args=[job_id, token]))

    async def reap(self) -> list[Claim]:
        """Queue jobs again whose worker is gone; return those that only an error record can end.

        Call it every second or so in any number of processes. The returned claims have `lapse` set
        and must be finished within a lease, else another reaper gets them.
        """
        limits = self._limits
        answer = await self._reap(
            args=[
                self._consumer,
                limits.lease_ms,
                limits.deliveries,
                REAPED_AT_ONCE,
                CONSUMER_IDLE_MS,
            ]
        )
        return [_claim(item) for item in answer]


def _claim(answer: Sequence[bytes]) -> Claim:
    reason, job_id, lane, priority, payload, token, attempt, deliveries, refresh, *times = answer
    deadline_ms, submitted_ms, started_ms = times
    return Claim(
        id=job_id.decode(),
        lane=lane.decode(),
        priority=Priority(priority.decode()),
        payload=payload,
        token=int(token),
        attempt=int(attempt),
        deliveries=int(deliveries),
        refresh=refresh == b"1",
        deadline_at_ms=int(deadline_ms),
        submitted_at_ms=int(submitted_ms),
        started_at_ms=int(started_ms),
        lapse=Lapse(reason.decode()) if reason else None,
    )

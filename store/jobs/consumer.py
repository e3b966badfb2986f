"""The workers' and reapers' side of the job protocol: take a job, keep it, end it, give it back.

A reaper ends abandoned jobs, even if no worker is left: all services and workers
offer to reap, and one of them does. Only its caller knows the record of such a job.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from redis.asyncio import Redis

from store import keys, scripts
from store.byte_limits import MAX_RECORD_BYTES
from store.errors import NoRoomForRecord, RecordTooLarge, StoreFull, StoreUnavailable
from store.jobs.types import (
    Claim,
    DeadLetter,
    Heartbeat,
    JobEnd,
    Priority,
    QueueLimits,
    Revocation,
)
from store.subscription import Subscription

REAPED_AT_ONCE: Final = 100
ANSWER_GRACE_S: Final = 5.0
TERMS_PER_LEASE: Final = 3
REAP_S: Final = 1.0
logger = logging.getLogger(__name__)


class JobConsumer:
    """Attempts at jobs by one consumer: a process that works, or that reaps."""

    def __init__(
        self, redis: Redis, blocking: Redis, consumer: str, limits: QueueLimits | None = None
    ) -> None:
        self._redis = redis
        self._blocking = blocking
        self._consumer = consumer
        self._limits = limits or QueueLimits()
        self._tokens: list[str] = []
        self._more = True
        self._claim = scripts.load(redis, "claim", shared="lane")
        self._renew = scripts.load(redis, "renew", shared="lane")
        self._finish = scripts.load(redis, "finish", shared="lane")
        self._release = scripts.load(redis, "release", shared="lane")
        self._abandon = scripts.load(redis, "abandon", shared="lane")
        self._reap = scripts.load(redis, "reap", shared="lane")

    @property
    def term_ms(self) -> int:
        """The time after which a silent reaper is replaced."""
        return max(1, self._limits.lease_ms // TERMS_PER_LEASE)

    async def claim(self, lanes: Sequence[str]) -> Claim | None:
        """Take the next job of `lanes`, the first preferred; interactive before all batch.

        If the connection breaks before the answer is here, the job waits for its lease to end.
        """
        more, *claims = await self._ask(lanes, is_reserved=False)
        self._more = bool(more)
        self._tokens = [keys.WAKE + lane for lane in lanes]
        return _claim(claims[0]) if claims else None

    async def claim_reserved(self, lanes: Sequence[str]) -> Claim | None:
        """Take the next interactive job of a caller who has none running in its lane."""
        _, *claims = await self._ask(lanes, is_reserved=True)
        return _claim(claims[0]) if claims else None

    async def _ask(self, lanes: Sequence[str], *, is_reserved: bool) -> list[Any]:
        limits = self._limits
        head = (self._consumer, limits.lease_ms, limits.aged_ms, int(is_reserved))
        answer: list[Any] = await self._claim(args=(*head, *lanes))
        return answer

    async def wait_for_newcomer(self, lanes: Sequence[str], timeout_s: float) -> None:
        """Return when there may be a job for `claim_reserved`, or in `timeout_s`."""
        await self._wait([keys.WAKE_RESERVE + lane for lane in lanes], timeout_s)

    async def wait_for_work(self, timeout_s: float) -> None:
        """Return when a job may be there since the last `claim`, or in `timeout_s`; then claim.

        Of all who wait for the lanes of a job one is woken. It returns at once when the last
        `claim` left jobs behind, or nothing was ever claimed.
        """
        if not self._more:
            await self._wait(self._tokens, timeout_s)

    async def _wait(self, tokens: list[str], timeout_s: float) -> None:
        try:
            async with asyncio.timeout(timeout_s + ANSWER_GRACE_S):
                await self._blocking.blpop(tokens, timeout=timeout_s)
        except TimeoutError as error:
            raise StoreUnavailable("The store did not end a blocking read in time.") from error

    async def timeout_ms(self, job_id: str) -> int:
        """Return the longest time that any waiting caller allows the job to run."""
        timeout = await self._redis.hget(keys.JOB + job_id, "timeout_ms")
        return int(timeout or 0)

    async def renew(self, job_id: str, token: int) -> Heartbeat:
        """Begin the lease again. Beat at least three times per `Limits.lease_ms`."""
        answer = await self._renew(args=[job_id, token, self._limits.lease_ms])
        return Heartbeat(answer.decode())

    async def finish(
        self,
        job_id: str,
        token: int,
        record: bytes,
        *,
        reusable: bool,
        keep_s: int,
        used_ms: int | None = None,
    ) -> bool:
        """End the job with `record`, kept for `keep_s`; False: the attempt no longer counts.

        A later submit may be answered with a `reusable` one. `used_ms` of a worker's or a
        GPU's time is the caller's share; None: all the time of the attempt.

        Raises RecordRefused where there is no room for the record: the attempt still counts, and
        must finish with one of at most `MAX_FAILURE_RECORD_BYTES`.
        """
        used: str | int = "" if used_ms is None else used_ms
        if len(record) > MAX_RECORD_BYTES:
            raise RecordTooLarge(len(record))
        args: list[str | int | bytes] = [job_id, token, record, int(reusable), keep_s * 1000, used]
        answer, *limit = await self._finish(args=args)
        match answer:
            case b"too_large":
                raise RecordTooLarge(len(record))
            case b"caller_bytes_full":
                raise NoRoomForRecord(int(limit[0]))
            case b"store_full":
                raise StoreFull
        return bool(answer == b"accepted")

    async def release(self, job_id: str, token: int) -> bool:
        """Give the job back because this worker stops; False: the attempt no longer counts."""
        return bool(await self._release(args=[job_id, token]))

    async def abandon(self, job_id: str, token: int) -> bool:
        """End the lease at once, because this attempt cannot be brought to an end.

        The delivery counts: after too many of them a reaper ends the job. False: the attempt no
        longer counts.
        """
        return bool(await self._abandon(args=[job_id, token]))

    async def reap(self) -> list[Claim] | None:
        """Queue jobs again whose worker is gone; return those that only an error record can end.

        One of all processes that call it reaps for all; None: that is another one for now, which is
        followed when it has been silent for `term_ms`. The returned claims have `dead_letter`
        set and must be finished within a lease, else the next reap returns them again.
        """
        limits = self._limits
        answer = await self._reap(
            args=[
                self._consumer,
                limits.lease_ms,
                limits.deliveries,
                REAPED_AT_ONCE,
                self.term_ms,
            ]
        )
        return None if answer is None else [_claim(item) for item in answer]


def _claim(answer: Sequence[bytes | None]) -> Claim:
    """Return what a script claimed. What another version wrote may lack fields: they are empty."""
    reason, job_id, lane, priority, payload, token, attempt, deliveries, refresh, *times = answer
    deadline_ms, submitted_ms, started_ms, timeout_ms, owner, request_id, traceparent = times
    is_batch = priority != Priority.INTERACTIVE.value.encode()
    return Claim(
        id=_text(job_id),
        lane=_text(lane),
        priority=Priority.BATCH if is_batch else Priority.INTERACTIVE,
        payload=payload or b"",
        token=int(token or 0),
        attempt=int(attempt or 0),
        deliveries=int(deliveries or 0),
        refresh=refresh == b"1",
        deadline_at_ms=int(deadline_ms or 0),
        submitted_at_ms=int(submitted_ms or 0),
        started_at_ms=int(started_ms or 0),
        timeout_ms=int(timeout_ms or 0),
        caller=_text(owner),
        request_id=_text(request_id),
        traceparent=_text(traceparent),
        dead_letter=DeadLetter(reason.decode()) if reason else None,
    )


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode(errors="replace")


async def reap_for_all(
    consumer: JobConsumer,
    end_of: Callable[[Claim], JobEnd],
    on_end: Callable[[DeadLetter | None], None] = lambda _: None,
) -> None:
    """Offer to reap until cancelled; `end_of` returns how a dead letter ends.

    `on_end` is called with the reason of each that was ended.
    """
    while True:
        try:
            claims = await consumer.reap()
            for claim in claims or ():
                end = end_of(claim)
                await consumer.finish(
                    claim.id,
                    claim.token,
                    end.record,
                    reusable=end.reusable,
                    keep_s=end.keep_s,
                )
                on_end(claim.dead_letter)
                logger.info("job %s ended: %s", claim.id, claim.dead_letter)
        except StoreUnavailable as error:
            claims = None
            logger.warning("expired jobs were not reaped: %s", error)
        # another process reaps: enough to see each term whether it is still there
        await asyncio.sleep(REAP_S if claims is not None else max(REAP_S, consumer.term_ms / 1000))


class Revocations:
    """Revocations of attempts, so that workers kill their processes at once.

    `on_revoked` is called for those of other workers too and must not block. A lost revocation is
    made up for by the next heartbeat, which gives the same answer.
    """

    def __init__(self, blocking: Redis, on_revoked: Callable[[Revocation], None]) -> None:
        self._on_revoked = on_revoked
        self._subscription = Subscription(blocking, keys.REVOKED, self._on_message)

    async def run(self) -> None:
        """Listen until cancelled."""
        await self._subscription.run()

    def _on_message(self, message: bytes) -> None:
        why, token, job_id = message.decode().split(" ", 2)
        self._on_revoked(Revocation(job_id, int(token), Heartbeat(why)))

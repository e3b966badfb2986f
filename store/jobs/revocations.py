"""Telling workers at once that an attempt does not count any more, so that they kill its processes.

A revocation that is lost on the way is not lost for good: the next heartbeat gives the same answer.
"""

from collections.abc import Callable

from redis.asyncio import Redis

from store import keys
from store.jobs.words import Heartbeat, Revocation
from store.subscription import Subscription


class Revocations:
    """All revocations; `on_revoked` is called for those of other workers too and must not block."""

    def __init__(self, blocking: Redis, on_revoked: Callable[[Revocation], None]) -> None:
        self._on_revoked = on_revoked
        self._subscription = Subscription(blocking, keys.REVOKED, self._on_message)

    async def run(self) -> None:
        """Listen until cancelled."""
        await self._subscription.run()

    def _on_message(self, message: bytes) -> None:
        why, token, job_id = message.decode().split(" ", 2)
        self._on_revoked(Revocation(job_id, int(token), Heartbeat(why)))

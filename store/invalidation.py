"""Telling the in-process caches of all services that a compilation was refreshed or purged."""

from collections.abc import Callable

from redis.asyncio import Redis

from store import keys
from store.subscription import Subscription


async def invalidate(redis: Redis, key: str) -> None:
    """Tell all processes to forget the compilation `key`; call it after the change is written."""
    await redis.publish(keys.INVALIDATED, key)


class Invalidations:
    """What must be forgotten: one key, or everything when invalidations may have been missed.

    A process that read a record just before its invalidation arrived must not cache it: note
    `generation` before the read and cache only if it is still the same after it. While not
    `connected`, cache nothing.
    """

    def __init__(
        self, blocking: Redis, on_key: Callable[[str], None], on_loss: Callable[[], None]
    ) -> None:
        self.generation = 0
        self.connected = False
        self._on_key = on_key
        self._on_loss = on_loss
        self._subscription = Subscription(
            blocking,
            keys.INVALIDATED,
            self._message,
            on_connect=self._connect,
            on_loss=self._loss,
        )

    async def run(self) -> None:
        """Listen until cancelled."""
        await self._subscription.run()

    def _message(self, message: bytes) -> None:
        self.generation += 1
        self._on_key(message.decode())

    def _connect(self) -> None:
        self.generation += 1
        self.connected = True

    def _loss(self) -> None:
        self.generation += 1
        self.connected = False
        self._on_loss()

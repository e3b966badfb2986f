"""A subscription to one channel for as long as the process lives, and the invalidations it brings.

Publications made while the connection is down are gone: `on_connect` and `on_loss` exist so that
the subscriber can make up for them. These callbacks and `on_message` run in the event loop and must
not block. Whatever the server refuses is a loss, too: it is tried again until it is accepted.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.client import PubSub

from store import keys
from store.connection import cancellable
from store.errors import StoreUnavailable

SILENCE_S: Final = 5.0
PONG_S: Final = 5.0
SUBSCRIBE_S: Final = 10.0
RETRY_S: Final = 0.2
MAX_RETRY_S: Final = 2.0
_LOST = (exceptions.RedisError, StoreUnavailable, TimeoutError, OSError)

logger = logging.getLogger(__name__)


def ignore() -> None:
    """Do nothing: for a subscriber to whom a lost or new connection means nothing."""


class Subscription:
    """A subscription to `channel`; `blocking` is a client made by `connect_blocking`."""

    def __init__(
        self,
        blocking: Redis,
        channel: str,
        on_message: Callable[[bytes], None],
        *,
        on_connect: Callable[[], None] = ignore,
        on_loss: Callable[[], None] = ignore,
    ) -> None:
        self._blocking = blocking
        self._channel = channel
        self._on_message = on_message
        self._on_connect = on_connect
        self._on_loss = on_loss
        self._connected = False

    @property
    def connected(self) -> bool:
        """True if publications arrive now."""
        return self._connected

    async def run(self) -> None:
        """Listen until cancelled, connecting again after every loss."""
        pause_s = RETRY_S
        while True:
            pubsub = self._blocking.pubsub()
            try:
                async with asyncio.timeout(SUBSCRIBE_S):
                    with cancellable():
                        await pubsub.subscribe(self._channel)
                await self._confirm(pubsub)
                pause_s = RETRY_S
                await self._listen(pubsub)
            except _LOST as error:
                if pause_s == RETRY_S:  # once for each time that it is away
                    logger.warning("the subscription to %s is lost: %s", self._channel, error)
            finally:
                self._disconnect()
                with contextlib.suppress(*_LOST):  # a closed connection is lost already
                    await pubsub.aclose()  # type: ignore[no-untyped-call]
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, MAX_RETRY_S)

    def _disconnect(self) -> None:
        was_connected, self._connected = self._connected, False
        if was_connected:
            self._on_loss()

    async def _confirm(self, pubsub: PubSub) -> None:
        message = await pubsub.get_message(timeout=PONG_S)
        if message is None or message["type"] != "subscribe":
            raise exceptions.ConnectionError(f"No confirmation of the subscription: {message}.")
        self._connected = True
        self._on_connect()

    async def _listen(self, pubsub: PubSub) -> None:
        """Deliver messages; a silent connection is pinged."""
        pinged = False
        while True:
            message = await pubsub.get_message(timeout=PONG_S if pinged else SILENCE_S)
            if message is not None:
                pinged = False
                if message["type"] == "message":
                    self._deliver(message["data"])
            elif pinged:
                raise exceptions.ConnectionError("The server does not answer on a subscription.")
            else:
                await pubsub.ping()
                pinged = True

    def _deliver(self, message: bytes) -> None:
        try:
            self._on_message(message)
        except (
            Exception
        ):  # of another version, or not ours: the next one must be heard all the same
            logger.exception("cannot read a message on %s: %.200r", self._channel, message)


async def invalidate(redis: Redis, key: str) -> None:
    """Have all processes forget the compilation `key`; call it after the change is written."""
    await redis.publish(keys.INVALIDATED, key)


class Invalidations:
    """Invalidations to apply: one key, or everything if some may have been missed.

    A process that read a record just before its invalidation arrived must not cache it: note
    `generation` before the read, and cache only what `is_unchanged_since` then.
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

    def is_unchanged_since(self, generation: int) -> bool:
        """Return True if a value read at `generation` may be cached: it is not outdated."""
        return self.connected and self.generation == generation

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

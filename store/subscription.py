"""One channel, listened to for as long as the process lives, whatever happens to the connection.

Publications made while the connection is down are gone: `on_connect` and `on_loss` exist so that
the listener can make up for them. Both callbacks and `on_message` run in the event loop and must
not block.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.client import PubSub

SILENCE_S: Final = 5.0
PONG_S: Final = 5.0
RETRY_S: Final = 0.2


def ignore() -> None:
    """Do nothing: for a listener to whom a lost or new connection means nothing."""


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

    async def run(self) -> None:
        """Listen until cancelled, connecting again after every loss."""
        while True:
            pubsub = self._blocking.pubsub()
            subscribed = False
            try:
                await pubsub.subscribe(self._channel)
                subscribed = await self._confirmed(pubsub)
                await self._listen(pubsub)
            except (exceptions.ConnectionError, exceptions.TimeoutError, OSError):
                if subscribed:
                    self._on_loss()
            finally:
                await pubsub.aclose()  # type: ignore[no-untyped-call]
            await asyncio.sleep(RETRY_S)

    async def _confirmed(self, pubsub: PubSub) -> bool:
        message = await pubsub.get_message(timeout=PONG_S)
        if message is None or message["type"] != "subscribe":
            raise exceptions.ConnectionError(f"No confirmation of the subscription: {message}.")
        self._on_connect()
        return True

    async def _listen(self, pubsub: PubSub) -> None:
        """Hand on messages; a silent connection is asked for a sign of life."""
        pinged = False
        while True:
            message = await pubsub.get_message(timeout=PONG_S if pinged else SILENCE_S)
            if message is not None:
                pinged = False
                if message["type"] == "message":
                    self._on_message(message["data"])
            elif pinged:
                raise exceptions.ConnectionError("The server does not answer on a subscription.")
            else:
                await pubsub.ping()
                pinged = True

"""Following events as they come: many followers, one subscription per process.

A publication only makes it faster: whoever hears nothing looks again after `SILENCE_S`, and
everybody does after a reconnection.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

from redis.asyncio import Redis

from store import keys
from store.events import FINISHED, START, Event, Events
from store.subscription import Subscription

SILENCE_S: Final = 15.0


class Following:
    """The followers in this process. `run()` must be running for news to come at once."""

    def __init__(
        self, redis: Redis, blocking: Redis, events: Events, silence_s: float = SILENCE_S
    ) -> None:
        self._redis = redis
        self._events = events
        self._silence_s = silence_s
        self._followers: dict[str, set[asyncio.Event]] = {}
        self._subscription = Subscription(
            blocking, keys.HAPPENED, self._on_news, on_connect=self._wake_all
        )

    async def run(self) -> None:
        """Wake followers until cancelled."""
        await self._subscription.run()

    async def follow(self, id_: str, after: str = START) -> AsyncIterator[Event | None]:
        """Yield the events of a job or batch later than `after`, and end behind the last one.

        That is `finished`, or what a worker still found out after the end (`store.sequel`).

        None stands for a silence of `silence_s`. It ends too when the job is over and there is
        nothing more to tell.
        """
        news = asyncio.Event()
        self._followers.setdefault(id_, set()).add(news)
        try:
            while True:
                news.clear()
                alive = await self.is_alive(id_)
                finished = False
                for event in await self._events.read(id_, after):
                    yield event
                    after = event.id
                    finished = finished or event.kind == FINISHED
                if not alive:
                    return
                if finished:
                    continue  # to look at once whether more is to come
                if not await _comes(news, self._silence_s):
                    yield None
        finally:
            self._forget(id_, news)

    async def is_alive(self, id_: str) -> bool:
        """Return whether more may happen to a job or batch."""
        if await self._redis.exists(keys.JOB + id_, keys.SEQUEL + id_):
            return True
        left: Any = await self._redis.hget(keys.BATCH + id_, "left")
        return left is not None and int(left) > 0

    def _forget(self, id_: str, news: asyncio.Event) -> None:
        followers = self._followers[id_]
        followers.discard(news)
        if not followers:
            del self._followers[id_]

    def _on_news(self, message: bytes) -> None:
        for news in self._followers.get(message.decode(), ()):
            news.set()

    def _wake_all(self) -> None:
        for followers in self._followers.values():
            for news in followers:
                news.set()


async def _comes(news: asyncio.Event, timeout_s: float) -> bool:
    try:
        async with asyncio.timeout(timeout_s):
            await news.wait()
    except TimeoutError:
        return False
    return True

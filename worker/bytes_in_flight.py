"""How many bytes may be in a worker at once: who would bring more waits until there is room."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class BytesInFlight:
    """At most `limit_bytes`, handed out in the order of asking; more than that goes alone."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._used_bytes = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def room_for(self, size_bytes: int) -> AsyncIterator[None]:
        """Have room for `size_bytes` for as long as the block runs."""
        size_bytes = min(size_bytes, self._limit_bytes)
        await self._take(size_bytes)
        try:
            yield
        finally:
            self._give_back(size_bytes)

    async def _take(self, size_bytes: int) -> None:
        if not self._waiting and self._used_bytes + size_bytes <= self._limit_bytes:
            self._used_bytes += size_bytes
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append((size_bytes, waiter))
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._give_back(size_bytes)
            else:
                self._admit()  # whoever stood behind may fit
            raise

    def _give_back(self, size_bytes: int) -> None:
        self._used_bytes -= size_bytes
        self._admit()

    def _admit(self) -> None:
        while self._waiting:
            size_bytes, waiter = self._waiting[0]
            if not waiter.done():
                if self._used_bytes + size_bytes > self._limit_bytes:
                    return
                self._used_bytes += size_bytes
                waiter.set_result(None)
            self._waiting.popleft()

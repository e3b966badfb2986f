"""How many bytes may be in a worker at once: who would bring more waits until there is room."""

import asyncio
from collections import deque


class BytesInFlight:
    """At most `limit_bytes`, handed out in the order of asking; more than that goes alone."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._used_bytes = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size_bytes: int) -> None:
        """Return when there is room for `size_bytes`, which must be given back."""
        size_bytes = min(size_bytes, self._limit_bytes)
        if not self._waiting and self._used_bytes + size_bytes <= self._limit_bytes:
            self._used_bytes += size_bytes
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append((size_bytes, waiter))
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.give_back(size_bytes)
            else:
                self._admit()  # whoever stood behind may fit
            raise

    def give_back(self, size_bytes: int) -> None:
        """Make room for others, as much as was taken."""
        self._used_bytes -= min(size_bytes, self._limit_bytes)
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

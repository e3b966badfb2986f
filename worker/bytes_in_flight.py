"""A bound on the bytes that a worker holds at once: larger work waits until there is room."""

import asyncio
from collections import OrderedDict, deque


class BytesInFlight:
    """At most `limit_bytes`; more than that goes alone.

    Callers take turns, each in request order. No caller overtakes the one whose turn it is.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._used_bytes = 0
        self._waiting: OrderedDict[str, deque[tuple[int, asyncio.Future[None]]]] = OrderedDict()
        """Waiting takers by caller; the caller whose turn is next comes first."""

    async def take(self, size_bytes: int, caller: str = "") -> None:
        """Return when there is room for `size_bytes`, which must be given back."""
        size_bytes = min(size_bytes, self._limit_bytes)
        if not self._waiting and self._used_bytes + size_bytes <= self._limit_bytes:
            self._used_bytes += size_bytes
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append((size_bytes, waiter))
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.give_back(size_bytes)
            else:
                self._admit()  # a smaller request behind it may fit
            raise

    def give_back(self, size_bytes: int) -> None:
        """Make room for others, as much as was taken."""
        self._used_bytes -= min(size_bytes, self._limit_bytes)
        self._admit()

    def _admit(self) -> None:
        while self._waiting:
            caller, waiters = next(iter(self._waiting.items()))
            size_bytes, waiter = waiters[0]
            if not waiter.done():
                if self._used_bytes + size_bytes > self._limit_bytes:
                    return
                self._used_bytes += size_bytes
                waiter.set_result(None)
                self._waiting.move_to_end(caller)
            waiters.popleft()
            if not waiters:
                del self._waiting[caller]

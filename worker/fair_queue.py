"""Turns at something that few can use at once: the GPU, the processors of this machine.

Interactive work goes first; of the callers that wait, the one who used least time goes next, and
work in the background is passed over so often and no oftener.
"""

import asyncio
import itertools
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from heapq import heappop, heappush, heapreplace

from cachetools import LRUCache

MAX_CALLERS = 10_000
"""Whose used time is known."""
MAX_PASSED = 8
"""Turns of interactive work that work in the background lets pass, one after the other."""


class _UsedTime:
    """Seconds that callers used; who comes back begins with the least of those who were there."""

    def __init__(self) -> None:
        self._of: LRUCache[str, float] = LRUCache(MAX_CALLERS)
        self._least = 0.0

    def of(self, caller: str) -> float:
        return max(self._least, self._of.get(caller, 0.0))

    def add(self, caller: str, seconds: float) -> None:
        self._of[caller] = self.of(caller) + seconds

    def goes_next(self, caller: str) -> None:
        self._least = self.of(caller)


class _Callers:
    """Waiters by caller, each caller's in order of arrival.

    A turn costs little more with a thousand callers than with ten: the heap has a place for each,
    by the time used when it was taken, which is corrected when it comes up.
    """

    def __init__(self, used: _UsedTime) -> None:
        self._used = used
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._places: list[tuple[float, int, str]] = []
        self._arrivals = itertools.count()

    def add(self, caller: str, waiter: asyncio.Future[None]) -> None:
        if caller not in self._waiting:
            self._waiting[caller] = deque()
            self._place(caller)
        self._waiting[caller].append(waiter)

    def _place(self, caller: str) -> None:
        """Give a caller the place behind all who used as little."""
        heappush(self._places, (self._used.of(caller), next(self._arrivals), caller))

    def next(self) -> asyncio.Future[None] | None:
        """Remove and return the next waiter, skipping cancelled ones."""
        while self._places:
            used, arrival, caller = self._places[0]
            if (now_used := self._used.of(caller)) > used:
                heapreplace(self._places, (now_used, arrival, caller))
                continue
            heappop(self._places)
            waiter = self._waiting[caller].popleft()
            if self._waiting[caller]:
                self._place(caller)
            else:
                del self._waiting[caller]
            if not waiter.done():
                self._used.goes_next(caller)
                return waiter
        return None


class FairQueue:
    """`count` can be at it at once; the others wait for their turn."""

    def __init__(self, count: int = 1) -> None:
        self._free = count
        self._used = _UsedTime()
        self._first, self._behind = _Callers(self._used), _Callers(self._used)
        self._passed = 0

    def charge(self, caller: str, seconds: float) -> None:
        """Note that a caller used what there are turns at."""
        self._used.add(caller, seconds)

    async def take(self, caller: str, *, is_batch: bool = False) -> None:
        """Wait for the turn of `caller`, which must `give_back` it."""
        if self._free:
            self._free -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        (self._behind if is_batch else self._first).add(caller, waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.give_back()
            raise

    def give_back(self) -> None:
        """Let the next one have it."""
        waiter = self._next()
        if waiter is None:
            self._free += 1
        else:
            waiter.set_result(None)

    @asynccontextmanager
    async def turn(self, caller: str, *, is_batch: bool = False) -> AsyncIterator[None]:
        """Have a turn for as long as the block runs."""
        await self.take(caller, is_batch=is_batch)
        try:
            yield
        finally:
            self.give_back()

    def _next(self) -> asyncio.Future[None] | None:
        if self._passed >= MAX_PASSED and (aged := self._behind.next()) is not None:
            self._passed = 0
            return aged
        if (waiter := self._first.next()) is not None:
            self._passed += 1
            return waiter
        self._passed = 0
        return self._behind.next()


class FairSemaphore:
    """Turns of which no caller has all: one whose work hangs leaves a place for the others."""

    def __init__(self, count: int) -> None:
        """`count` can be at it at once: two at least."""
        self._all = FairQueue(max(2, count))
        self._most_of_one = max(2, count) - 1
        self._of_callers: dict[str, FairQueue] = {}
        self._present: Counter[str] = Counter()

    @asynccontextmanager
    async def turn(self, caller: str, *, is_batch: bool = False) -> AsyncIterator[None]:
        """Have a place for as long as the block runs."""
        own = self._of_callers.setdefault(caller, FairQueue(self._most_of_one))
        self._present[caller] += 1
        try:
            async with (
                own.turn(caller, is_batch=is_batch),
                self._all.turn(caller, is_batch=is_batch),
            ):
                yield
        finally:
            self._present[caller] -= 1
            if not self._present[caller]:
                del self._present[caller], self._of_callers[caller]

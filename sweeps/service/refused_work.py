"""The CPU time that a caller's refused sweeps took; beyond its share the caller has to wait.

A sweep is laid out before it is known to be wrong, which may take a second. Others should not pay
for a caller who posts such sweeps again and again.
"""

import asyncio
import math
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar
from weakref import WeakValueDictionary

from cachetools import LRUCache
from fastapi import Request

from service.caller_threads import CallerThreads
from service.http.problems import ProblemRaised

AT_ONCE_S = 5.0
"""CPU seconds that a caller may spend before it has to wait."""
SHARE = 0.05
"""The share of a core that a caller may spend on refused sweeps in the long run."""
MAX_CALLERS = 10_000
_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")


class MeasuredWork:
    """The work of one request in threads, and its CPU time."""

    def __init__(self, refused: "RefusedWork", caller: str, threads: CallerThreads) -> None:
        self.cpu_s = 0.0
        self._threads = threads
        self._refused = refused
        self._caller = caller

    async def run(
        self, make: Callable[_Given, _Made], *args: _Given.args, **kwargs: _Given.kwargs
    ) -> _Made:
        """Return what `make` returns; it is called in a thread when it is the caller's turn.

        Raises ProblemRaised (429) when the caller has to wait, by then.
        """

        def measured() -> _Made:
            began = time.thread_time()
            try:
                return make(*args, **kwargs)
            finally:
                self.cpu_s += time.thread_time() - began

        async with self._refused.turn(self._caller):
            self._refused.check(self._caller)
            return await self._threads.run(measured)


class RefusedWork:
    """The debts of callers; those not seen for longest are forgotten first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._owed: LRUCache[str, tuple[float, float]] = LRUCache(MAX_CALLERS)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def turn(self, caller: str) -> asyncio.Lock:
        """Return what one sweep of `caller` has at a time, so that each is charged before the next.

        Else many that are sent at once would all begin before the first of them is refused.
        """
        return self._turns.setdefault(caller, asyncio.Lock())

    def charge(self, caller: str, cpu_s: float) -> None:
        """Note what a refused sweep of `caller` took."""
        self._owed[caller] = (self._owes(caller) + cpu_s, self._clock())

    def check(self, caller: str) -> None:
        """Raise ProblemRaised (429) when `caller` has to wait."""
        wait_s = (self._owes(caller) - AT_ONCE_S) / SHARE
        if wait_s > 0:
            detail = (
                "Your refused sweeps took more CPU time than a caller's share; do what their "
                "errors say, make their spaces smaller, and wait before the next one"
            )
            headers = {"Retry-After": str(math.ceil(wait_s))}
            raise ProblemRaised("too_many_requests", detail, headers=headers)

    def _owes(self, caller: str) -> float:
        cpu_s, at = self._owed.get(caller, (0.0, 0.0))
        return max(0.0, cpu_s - (self._clock() - at) * SHARE)


def refused_of(request: Request) -> RefusedWork:
    """Return what this process remembers of refused sweeps."""
    refused: RefusedWork = request.app.state.refused_sweeps
    return refused

"""Threads for work that depends on a request, with a share for each caller.

Everything between a request and the queue that takes more than a moment runs here. One caller
occupies a few threads at once; the others take turns for the rest. Python runs one thread at a time
anyway, so more threads would make one caller faster only at the expense of the event loop.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Final, ParamSpec, TypeVar

from compiler.wanted import IS_WANTED, check_wanted
from jobs.work_context import caller_id

THREADS: Final = 6
THREADS_OF_A_CALLER: Final = 2
_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")


class CallerThreads:
    """A pool of threads, of which each caller has a share; callers take turns."""

    def __init__(self, threads: int = THREADS, of_a_caller: int = THREADS_OF_A_CALLER) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="caller")
        self._free = threads
        self._of_a_caller = of_a_caller
        self._running: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        """By caller, the one whose turn is next first."""

    async def run(
        self, make: Callable[_Given, _Made], *args: _Given.args, **kwargs: _Given.kwargs
    ) -> _Made:
        """Return what `make` returns, called in a thread when it is the turn of this caller.

        Raises Unwanted where `make` checks for it, once the client has gone. If this task is
        cancelled, `make` goes on until it checks, and keeps its thread until then.
        """
        caller = caller_id()
        await self._turn(caller)
        is_cancelled = False
        client_waits = IS_WANTED.get()

        def made() -> _Made:
            IS_WANTED.set(lambda: not is_cancelled and client_waits())
            check_wanted()
            return make(*args, **kwargs)

        loop = asyncio.get_running_loop()

        def has_ended(_done: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._leave, caller)

        running = self._pool.submit(copy_context().run, made)
        running.add_done_callback(has_ended)
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            is_cancelled = True
            raise

    def close(self) -> None:
        """Take no more work; what runs ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _turn(self, caller: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        self._begin_next()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it came at the same moment
                self._leave(caller)
            raise

    def _begin_next(self) -> None:
        while self._free:
            caller = next(
                (each for each in self._waiting if self._running[each] < self._of_a_caller), None
            )
            if caller is None:
                return
            turns = self._waiting[caller]
            turn = turns.popleft()
            self._waiting.move_to_end(caller)
            if not turns:
                del self._waiting[caller]
            if not turn.cancelled():
                turn.set_result(None)
                self._free -= 1
                self._running[caller] += 1

    def _leave(self, caller: str) -> None:
        self._free += 1
        self._running[caller] -= 1
        if not self._running[caller]:
            del self._running[caller]
        self._begin_next()

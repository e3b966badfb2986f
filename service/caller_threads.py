"""Threads for work that depends on a request, with a share for each caller.

Everything between a request and the queue that takes more than a moment runs here, and so does what
`asyncio.to_thread` is asked for. One caller occupies a few threads at once; callers take turns.
Python runs one thread at a time anyway, so more threads would make one caller faster only at the
expense of the event loop.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from threading import Lock
from typing import Any, Final, ParamSpec, TypeVar

from compiler.wanted import IS_WANTED, check_wanted
from jobs.work_context import caller_id

THREADS: Final = 6
THREADS_OF_A_CALLER: Final = 2
_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")
_Work = tuple[Future[Any], Callable[[], Any]]


class CallerThreads(ThreadPoolExecutor):
    """A pool of threads, of which each caller has a share; callers take turns."""

    def __init__(self, threads: int = THREADS, of_a_caller: int = THREADS_OF_A_CALLER) -> None:
        super().__init__(threads, thread_name_prefix="caller")
        self._free = threads
        self._of_a_caller = of_a_caller
        self._running: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[_Work]] = OrderedDict()
        """By caller, the one whose turn is next first."""
        self._lock = Lock()

    async def run(
        self, make: Callable[_Given, _Made], *args: _Given.args, **kwargs: _Given.kwargs
    ) -> _Made:
        """Return what `make` returns, called in a thread when it is the turn of this caller.

        Raises Unwanted where `make` checks for it, once the client has gone. If this task is
        cancelled, `make` goes on until it checks, and keeps its thread until then.
        """
        is_cancelled = False
        client_waits = IS_WANTED.get()

        def made() -> _Made:
            IS_WANTED.set(lambda: not is_cancelled and client_waits())
            check_wanted()
            return make(*args, **kwargs)

        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self, copy_context().run, made)
        except asyncio.CancelledError:
            is_cancelled = True
            raise

    def submit(
        self, fn: Callable[_Given, _Made], /, *args: _Given.args, **kwargs: _Given.kwargs
    ) -> Future[_Made]:
        """Have `fn` called when it is the turn of this context's caller."""
        promised: Future[_Made] = Future()
        with self._lock:
            turns = self._waiting.setdefault(caller_id(), deque())
            turns.append((promised, lambda: fn(*args, **kwargs)))
            self._begin_next()
        return promised

    def _begin_next(self) -> None:
        while self._free:
            caller = next(
                (each for each in self._waiting if self._running[each] < self._of_a_caller), None
            )
            if caller is None:
                return
            turns = self._waiting[caller]
            promised, work = turns.popleft()
            self._waiting.move_to_end(caller)
            if not turns:
                del self._waiting[caller]
            if promised.set_running_or_notify_cancel():
                self._free -= 1
                self._running[caller] += 1
                super().submit(self._carry_out, caller, promised, work)

    def _carry_out(self, caller: str, promised: Future[Any], work: Callable[[], Any]) -> None:
        try:
            promised.set_result(work())
        except BaseException as error:  # noqa: BLE001 - the caller of `submit` gets it
            promised.set_exception(error)
        with self._lock:
            self._free += 1
            self._running[caller] -= 1
            if not self._running[caller]:
                del self._running[caller]
            self._begin_next()

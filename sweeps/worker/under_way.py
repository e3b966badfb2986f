"""Concurrent work of a sweep: started when there is room for it, and awaited together."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self


class UnderWay:
    """At most N pieces of work at a time; leaving it waits for all.

    Raises an ExceptionGroup with the error of the first that failed; the others are cancelled then.
    """

    def __init__(self, most: int) -> None:
        self._room = asyncio.Semaphore(most)
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        """Begin nothing yet."""
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for all that was begun."""
        await self._group.__aexit__(kind, error, traceback)

    async def begin(self, do: Callable[[], Awaitable[None]]) -> None:
        """Begin a piece of work as soon as there is room for it."""
        await self._room.acquire()
        self._group.create_task(self._done(do))

    async def _done(self, do: Callable[[], Awaitable[None]]) -> None:
        try:
            await do()
        finally:
            self._room.release()

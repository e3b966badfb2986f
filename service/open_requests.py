"""The running requests by the API key that they came with; a revoked key ends them.

Every wait, stream, upload and download is inside a request, so no route has to think of this. What
was answered but not yet received is cut off with its connection.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from fastapi import Request

from service.http.middleware import CONNECTION, REVOKED, at_end
from store.errors import StoreUnavailable

CHECK_S = 0.5
"""The interval of reading keys while changes of them may be missed."""
Identify = Callable[[str], Awaitable[str | None]]


class Connection(Protocol):
    """The connection that a request came by."""

    @property
    def is_answering(self) -> bool:
        """True if a part of an answer was written, or waits to be received."""

    def abort(self) -> None:
        """Close it at once, and drop what was not received yet."""


@dataclass(frozen=True, slots=True)
class _Key:
    """The secret of a request, and the caller that it stood for when the request came."""

    secret: str
    caller_id: str


@dataclass(frozen=True, slots=True)
class _Open:
    key: _Key
    state: dict[str, Any]

    @property
    def connection(self) -> Connection | None:
        found: Connection | None = self.state.get(CONNECTION)
        return found


class OpenRequests:
    """Ends the requests whose secret `identify` does not find to be the same caller any more."""

    def __init__(self, identify: Identify) -> None:
        self._identify = identify
        self._open: dict[asyncio.Task[Any], _Open] = {}
        self._being_received: WeakKeyDictionary[Connection, set[_Key]] = WeakKeyDictionary()
        """The keys whose answers a connection may still hold."""
        self._changed = asyncio.Event()

    def begin(self, request: Request, secret: str, caller_id: str) -> None:
        """Note that this task serves `request` until the request ends."""
        task = asyncio.current_task()
        if task is not None and task not in self._open:  # else a request of this very task
            state = request.scope.setdefault("state", {})
            self._open[task] = _Open(_Key(secret, caller_id), state)
            at_end(request.scope, partial(self._end, task))

    def _end(self, task: asyncio.Task[Any]) -> None:
        ended = self._open.pop(task)
        if (connection := ended.connection) is None:
            return
        if self._being_received.get(connection) == {ended.key}:
            return  # saves most requests a system call; `_end_revoked` looks at the connection
        if connection.is_answering:
            self._being_received.setdefault(connection, set()).add(ended.key)
        else:
            self._being_received.pop(connection, None)

    def check(self) -> None:
        """Have all keys looked up again: one was made or revoked."""
        self._changed.set()

    async def run(self, may_miss_changes: Callable[[], bool]) -> None:
        """End what must end, until cancelled."""
        while True:
            try:
                async with asyncio.timeout(CHECK_S):
                    await self._changed.wait()
            except TimeoutError:
                if not may_miss_changes():
                    continue
            self._changed.clear()
            try:
                await self._end_revoked()
            except StoreUnavailable:
                await asyncio.sleep(CHECK_S)
                self._changed.set()

    async def _end_revoked(self) -> None:
        keys = {each.key for each in self._open.values()}.union(*self._being_received.values())
        callers = {secret: await self._identify(secret) for secret in {k.secret for k in keys}}

        def is_revoked(key: _Key) -> bool:
            # one that came while keys were looked up was itself looked up after the change
            return key.secret in callers and callers[key.secret] != key.caller_id

        for connection, held in list(self._being_received.items()):
            if any(map(is_revoked, held)) and connection.is_answering:
                connection.abort()
        for task, each in list(self._open.items()):
            if is_revoked(each.key):
                each.state[REVOKED] = True
                if (used := each.connection) is not None and used.is_answering:
                    used.abort()
                task.cancel()

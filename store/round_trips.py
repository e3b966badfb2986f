"""Commands of concurrent tasks in common round trips.

A command costs a client ten times as much as the same command within a pipeline. Tasks that work on
the items of one request hardly notice that their commands are sent together.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from redis.asyncio.client import Pipeline

MAX_COMMANDS: Final = 64
MAX_BYTES: Final = 1 << 20
"""The limit of one round trip, unless a single command is longer."""
_shared: ContextVar[bool] = ContextVar("shared_round_trips", default=False)


@contextmanager
def shared_round_trips() -> Iterator[None]:
    """Have the commands of this task, and of tasks that it creates, share round trips."""
    token = _shared.set(True)
    try:
        yield
    finally:
        _shared.reset(token)


def are_shared() -> bool:
    """Return whether commands of this task share round trips."""
    return _shared.get()


@dataclass(slots=True)
class _Command:
    words: Sequence[Any]
    options: Mapping[str, Any]
    """Those by which redis-py reads the answer."""
    answer: asyncio.Future[Any]

    @property
    def size_bytes(self) -> int:
        return sum(len(word) for word in self.words if isinstance(word, bytes | str))


class RoundTrips:
    """The commands of one client that wait for a common round trip.

    `pipeline` returns a new pipeline without a transaction.
    """

    def __init__(self, pipeline: Callable[[], Pipeline]) -> None:
        self._pipeline = pipeline
        self._waiting: deque[_Command] = deque()
        self._sender: asyncio.Task[None] | None = None

    async def run(self, words: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """Return the answer to a command; raise its error.

        A command whose task is cancelled before it is sent is not sent.
        """
        command = _Command(words, options, asyncio.get_running_loop().create_future())
        self._waiting.append(command)
        if self._sender is None:
            # it starts after the tasks that are ready now, which have added their commands by then
            self._sender = asyncio.create_task(self._send())
        return await command.answer

    async def _send(self) -> None:
        """Send what waits. Whatever comes during a round trip is in the next one."""
        _shared.set(False)
        try:
            while part := self._next_part():
                await self._send_together(part)
        finally:
            self._sender = None

    def _next_part(self) -> list[_Command]:
        """Take the first commands that wait, within the limits of a round trip."""
        part: list[_Command] = []
        left_bytes = MAX_BYTES
        while self._waiting and len(part) < MAX_COMMANDS:
            command = self._waiting[0]
            left_bytes -= command.size_bytes
            if part and left_bytes < 0:
                break
            self._waiting.popleft()
            if not command.answer.cancelled():
                part.append(command)
        return part

    async def _send_together(self, commands: Sequence[_Command]) -> None:
        pipeline = self._pipeline()
        for command in commands:
            pipeline.execute_command(*command.words, **command.options)
        try:
            answers = await pipeline.execute(raise_on_error=False)
        except Exception as error:  # noqa: BLE001  (the task of each command raises it)
            answers = [error] * len(commands)
        for command, answer in zip(commands, answers, strict=True):
            if command.answer.cancelled():
                continue
            if isinstance(answer, Exception):
                command.answer.set_exception(answer)
            else:
                command.answer.set_result(answer)

"""Sends cases to a service, many at a time, and counts the answers."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tests.raw_fuzz.cases import Case

AT_ONCE = 24
IDLE_S = 0.25
"""After this long without an answer a case ends: its bytes may be no whole request."""
_PROBE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_PROBES_PER_WAIT = 2
"""The number of probes that must be answered first: a slow service is not dead."""
MAX_SHOWN = 600
_PROBE_S = 60.0
_T = TypeVar("_T")
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
NOT_IMPLEMENTED = 501
"""The answer to an unknown method, which is not an error of the service."""


@dataclass
class FuzzResults:
    """The results of all cases."""

    connections: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    silent: int = 0
    """Cases without an answer."""
    errors: dict[int, bytes] = field(default_factory=dict)
    """An answer with an error of the service, by the number of its case."""
    refused: int = 0
    """Connections that the service did not accept."""


class Probes:
    """Asks a service for its health, one time after the other."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._answered = 0
        self._next = asyncio.Event()

    async def run(self) -> None:
        """Ask until cancelled. Raises OSError and TimeoutError for a service that is lost."""
        while True:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            writer.write(_PROBE)
            await asyncio.wait_for(reader.read(), _PROBE_S)
            writer.transport.abort()
            self._answered += 1
            self._next.set()
            self._next = asyncio.Event()
            await asyncio.sleep(IDLE_S / _PROBES_PER_WAIT / 2)

    async def pass_by(self, count: int) -> None:
        """Wait for `count` answers."""
        last = self._answered + count
        while self._answered < last:
            await self._next.wait()


async def send_all(port: int, cases: Iterable[Case]) -> FuzzResults:
    """Send `cases` to 127.0.0.1:`port` and return what was answered."""
    answered, waiting, probes = FuzzResults(), iter(cases), Probes(port)

    async def send_one_after_the_other() -> None:
        for case in waiting:
            await _send(port, case, answered, probes)

    async def send_many() -> None:
        await asyncio.gather(*(send_one_after_the_other() for _ in range(AT_ONCE)))

    sending, probing = asyncio.create_task(send_many()), asyncio.create_task(probes.run())
    try:
        await asyncio.wait({sending, probing}, return_when=asyncio.FIRST_COMPLETED)
        if probing.done():
            await probing
        await sending
    finally:
        sending.cancel()
        probing.cancel()
    return answered


async def _send(port: int, case: Case, answered: FuzzResults, probes: Probes) -> None:
    answered.connections += 1
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionError:
        answered.refused += 1
        return
    answer = b""
    try:
        for piece in case.pieces:
            writer.write(piece)
            await _before_silence(writer.drain(), probes)
        while data := await _before_silence(reader.read(1 << 16), probes):
            answer += data
    except (ConnectionError, TimeoutError):
        pass  # both end a case; earlier answers count
    finally:
        writer.transport.abort()
    starts = list(_STATUS.finditer(answer))
    statuses = [int(start[1]) for start in starts]
    answered.statuses.update(statuses)
    answered.silent += not statuses
    for start, status in zip(starts, statuses, strict=True):
        if status >= 500 and status != NOT_IMPLEMENTED:
            answered.errors[case.number] = answer[start.start() : start.start() + MAX_SHOWN]


async def _before_silence(waited_for: Coroutine[Any, Any, _T], probes: Probes) -> _T:
    """Return the result of `waited_for`. Raises TimeoutError when the service is silent."""
    task = asyncio.create_task(waited_for)
    try:
        await asyncio.wait({task}, timeout=IDLE_S)
        if not task.done():
            passing = asyncio.create_task(probes.pass_by(_PROBES_PER_WAIT))
            await asyncio.wait({task, passing}, return_when=asyncio.FIRST_COMPLETED)
            passing.cancel()
        if not task.done():
            raise TimeoutError
        return await task
    finally:
        task.cancel()

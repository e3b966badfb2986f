"""Sends cases to a service, many at a time, and counts what is answered."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.raw_fuzz.cases import Case

AT_ONCE = 24
IDLE_S = 0.25
"""After this long without an answer a case is over: what it sent may be no whole request."""
MOST_SHOWN = 600
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
NOT_IMPLEMENTED = 501
"""The answer to a method that nobody knows: no error of the service."""


@dataclass
class Answered:
    """What came of all cases."""

    connections: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    silent: int = 0
    """Cases without an answer."""
    errors: dict[int, bytes] = field(default_factory=dict)
    """An answer with an error of the service, by the number of its case."""
    refused: int = 0
    """Connections that were not taken."""


async def send_all(port: int, cases: Iterable[Case]) -> Answered:
    """Send `cases` to 127.0.0.1:`port` and return what was answered."""
    answered, waiting = Answered(), iter(cases)

    async def send_one_after_the_other() -> None:
        for case in waiting:
            await _send(port, case, answered)

    await asyncio.gather(*(send_one_after_the_other() for _ in range(AT_ONCE)))
    return answered


async def _send(port: int, case: Case, answered: Answered) -> None:
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
            await asyncio.wait_for(writer.drain(), IDLE_S)
        while data := await asyncio.wait_for(reader.read(1 << 16), IDLE_S):
            answer += data
    except (ConnectionError, TimeoutError):
        pass  # both end a case; what was answered counts
    finally:
        writer.transport.abort()
    starts = list(_STATUS.finditer(answer))
    statuses = [int(start[1]) for start in starts]
    answered.statuses.update(statuses)
    answered.silent += not statuses
    for start, status in zip(starts, statuses, strict=True):
        if status >= 500 and status != NOT_IMPLEMENTED:
            answered.errors[case.number] = answer[start.start() : start.start() + MOST_SHOWN]

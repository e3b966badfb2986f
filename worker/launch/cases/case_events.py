"""Sends events of finished cases to followers of a launch: soon, and several per command.

News only: a launch does without what the store refuses, and never waits for it between two cases.
"""

import asyncio
import contextlib
import logging
from types import TracebackType
from typing import Any, Self

from compiler.diagnostic import clipped
from launch.request.launch_record import CaseResult
from store.errors import StoreUnavailable
from store.events import Events
from store.jobs.types import Claim

SOON_S = 0.02
MAX_NAME_CHARS = 200
"""The limit for a case's name in an event."""

logger = logging.getLogger(__name__)


class CaseEvents:
    """The events of one launch's cases. Use it with `async with`: leaving it sends all events."""

    def __init__(self, events: Events, claim: Claim) -> None:
        self._events = events
        self._claim = claim
        self._unsent: list[dict[str, Any]] = []
        self._over = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Send pending events, unless the launch was aborted."""
        self._over.set()
        sending = self._sending
        if sending is None:
            return
        if kind is not None:
            sending.cancel()
        await asyncio.wait([sending])
        if kind is None:
            sending.result()

    async def send(self, result: CaseResult) -> None:
        """Publish how a case ended, with those that end in the next moment; returns at once."""
        data = result.model_dump(mode="json", include={"index", "name", "verdict"})
        data["name"] = None if result.name is None else clipped(result.name, MAX_NAME_CHARS)
        data["problem"] = result.problem.slug if result.problem else None
        self._unsent.append(data)
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_all())

    async def _send_all(self) -> None:
        while self._unsent:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SOON_S):
                    await self._over.wait()
            unsent, self._unsent = self._unsent, []
            await self._append(unsent)
        self._sending = None

    async def _append(self, data: list[dict[str, Any]]) -> None:
        try:
            await self._events.append_all(self._claim.id, self._claim.token, "case", data)
        except StoreUnavailable as error:
            cases = ", ".join(str(each["index"]) for each in data)
            logger.warning("cannot send events of %s, cases %s: %s", self._claim.id, cases, error)

"""The one deadline of a piece of work, which everything it waits for gets passed."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class DeadlinePassed(Exception):
    """There was no time left, or not enough for the running step."""

    def __init__(self, deadline_s: float, what: str = "launch") -> None:
        super().__init__(
            f"The {what} was not over within deadline_s = {deadline_s:g} s, which counts from its "
            "submission. Ask for more, or for fewer cases at a time."
        )


class StepLimit:
    """The seconds that one step may take: its own timeout, or less where the deadline is near."""

    def __init__(self, limit_s: float, passed: DeadlinePassed | None) -> None:
        self.limit_s = limit_s
        self._passed = passed

    def timed_out(self) -> None:
        """Raise DeadlinePassed if it was the deadline, not its own timeout, that ended the step."""
        if self._passed is not None:
            raise self._passed


class Deadline:
    """`deadline_s` after the submission; `spent_s` of them had passed when a worker began."""

    def __init__(self, deadline_s: float, spent_s: float = 0.0, what: str = "launch") -> None:
        self._deadline_s = deadline_s
        self._what = what
        self._end = time.monotonic() + deadline_s - spent_s

    def step(self, timeout_s: float) -> StepLimit:
        """Return the limit of a step that is allowed `timeout_s`. Raises DeadlinePassed."""
        self.check()
        left_s = self._end - time.monotonic()
        return StepLimit(min(timeout_s, left_s), self.passed if left_s < timeout_s else None)

    def limit_s(self, timeout_s: float) -> float:
        """Return the seconds of a step that is allowed `timeout_s`. Raises DeadlinePassed."""
        return self.step(timeout_s).limit_s

    @asynccontextmanager
    async def bounding(self) -> AsyncIterator[None]:
        """Raise DeadlinePassed when the block is not over by then: it waits for others."""
        self.check()
        try:
            async with asyncio.timeout(self._end - time.monotonic()):
                yield
        except TimeoutError:
            raise self.passed from None

    @property
    def left_s(self) -> float:
        """The seconds that are left, 0 where it has passed."""
        return max(0.0, self._end - time.monotonic())

    @property
    def left_ms(self) -> int:
        """The same in milliseconds."""
        return int(self.left_s * 1000)

    def check(self) -> None:
        """Raise DeadlinePassed when it has."""
        if time.monotonic() >= self._end:
            raise self.passed

    @property
    def passed(self) -> DeadlinePassed:
        """The error to raise where it is known to have passed."""
        return DeadlinePassed(self._deadline_s, self._what)

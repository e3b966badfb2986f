"""How long an attempt may take: what the most patient of those who wait for it allows.

Somebody with more patience may join while it runs, so that is asked again when the time is over.
"""

import time
from collections.abc import Awaitable, Callable

from store.errors import StoreUnavailable


class TimeLimit:
    """The limit of one attempt, counted from when it is made; `ask` returns the present one."""

    def __init__(self, limit_s: float, ask: Callable[[], Awaitable[float]] | None = None) -> None:
        self.limit_s = limit_s
        self._ask = ask
        self._started = time.monotonic()

    def left_s(self) -> float:
        """Return the seconds that are left, never less than a moment."""
        return max(self._started + self.limit_s - time.monotonic(), 0.001)

    async def more_s(self) -> float:
        """Return the seconds that are left after all, now that they seem over; 0 for none."""
        try:
            present_s = await self._ask() if self._ask is not None else 0.0
        except StoreUnavailable:
            present_s = 0.0
        self.limit_s = max(self.limit_s, present_s)
        return max(self._started + self.limit_s - time.monotonic(), 0.0)

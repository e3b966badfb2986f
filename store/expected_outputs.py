"""Outputs of references, separate for each caller: bytes by key, with a budget and a lifetime.

What is in the bytes is not looked at here. Nothing is ever handed to another caller; what had to
give way, expired or was refused is simply not there, and is computed again.
"""

from typing import Final

from redis.asyncio import Redis

from store import keys, scripts
from store.budget import Budget

LIFE_S: Final = 3600
"""The life of an answer, from when it was computed."""
MAX_ANSWERS: Final = 20_000
"""The limit per caller."""
SHARE: Final = 4
"""One answer may take this part of its caller's budget."""


class ExpectedOutputs:
    """The answers of all callers' references; `limit_bytes` is what one caller's may take."""

    def __init__(self, cache: Redis, budget: Budget | None, limit_bytes: int) -> None:
        self._budget = budget
        self._limit_bytes = limit_bytes
        self._keep = scripts.load(cache, "keep_expected")
        self._read = scripts.load(cache, "read_expected")

    def has_room_for(self, size_bytes: int) -> bool:
        """Return True if an answer of this size may be stored at all."""
        return size_bytes * SHARE <= self._limit_bytes

    async def put(self, caller: str, key: str, data: bytes) -> None:
        """Keep an answer that there is room for; the caller's least recently used give way.

        Raises StoreUnavailable.
        """
        if not self.has_room_for(len(data)):
            return
        has_books = "1" if self._budget else "0"
        bounds = (self._limit_bytes, MAX_ANSWERS, LIFE_S)
        await self._keep(args=[caller, key, data, *bounds, has_books])

    async def get(self, caller: str, key: str) -> bytes | None:
        """Return what the caller's reference answered; None where nothing is kept.

        Raises StoreUnavailable.
        """
        data: bytes | None = await self._read(args=[caller, key])
        if data is not None and self._budget:
            self._budget.note_use(f"{keys.EXPECTED}{caller}:{key}")
        return data

"""Accounts of each caller by day: requests, bytes of bodies, processor and GPU seconds.

A process notes in memory, and adds what is new to the store every few seconds. Days are of UTC, and
are kept for `KEPT_DAYS`.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from redis.asyncio import Redis

from store import keys
from store.connection import EssentialWrites
from store.errors import StoreUnavailable

KEPT_DAYS: Final = 35
MAX_CALLERS: Final = 10_000
"""Noted in memory between two flushes."""


@dataclass(slots=True)
class Used:
    """Amounts of one caller."""

    requests: float = 0
    received_bytes: float = 0
    sent_bytes: float = 0
    cpu_seconds: float = 0
    gpu_seconds: float = 0

    def add(self, other: "Used") -> None:
        """Add the amounts of `other`."""
        for name, amount in asdict(other).items():
            setattr(self, name, getattr(self, name) + amount)


@dataclass(frozen=True, slots=True)
class DayOfCaller:
    """Amounts that one caller used on one day, written as 2026-11-26."""

    day: str
    caller: str
    used: Used


NAMES: Final = tuple(field.name for field in fields(Used))


class UsageTally:
    """Amounts that callers used since the last flush."""

    def __init__(self) -> None:
        self._new: dict[str, Used] = {}

    def note(self, caller: str, used: Used) -> None:
        """Add to what a caller used."""
        if caller in self._new or len(self._new) < MAX_CALLERS:
            self._new.setdefault(caller, Used()).add(used)

    async def flush(self, usage: "UsageAccounts") -> None:
        """Add everything to the store. Raises StoreUnavailable: then it is added the next time."""
        new, self._new = self._new, {}
        try:
            await usage.add(new)
        except StoreUnavailable:
            for caller, used in new.items():
                self.note(caller, used)
            raise


class UsageAccounts:
    """The store's accounts."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._writes = EssentialWrites(redis)

    async def add(self, new: dict[str, Used]) -> None:
        """Add to the accounts of today. Raises StoreUnavailable."""
        now_s, _ = await self._redis.time()  # limits are looked at by the store's clock
        today = datetime.fromtimestamp(now_s, UTC).date()
        name, words = keys.USAGE + today.isoformat(), list[tuple[str, ...]]()
        for caller, used in new.items():
            for what, amount in asdict(used).items():
                if amount:
                    words.append(("HINCRBYFLOAT", name, f"{what} {caller}", repr(amount)))
            if used.gpu_seconds:
                minutes, now = keys.GPU_MINUTES + caller, str(now_s // 60)
                words.append(("HINCRBYFLOAT", minutes, now, repr(used.gpu_seconds)))
                words.append(("EXPIRE", minutes, "7200"))
        if words:
            await self._writes.write(*words, ("EXPIRE", name, str((KEPT_DAYS + 1) * 24 * 3600)))

    async def of(self, caller: str) -> list[DayOfCaller]:
        """Return the days on which a caller used anything, newest first."""
        days = _days()
        pipeline = self._redis.pipeline(transaction=False)
        for day in days:
            pipeline.hmget(keys.USAGE + day, [f"{what} {caller}" for what in NAMES])
        replies: Any = await pipeline.execute()
        return [
            DayOfCaller(day, caller, _used(dict(zip(NAMES, amounts, strict=True))))
            for day, amounts in zip(days, replies, strict=True)
            if any(amounts)
        ]

    async def amounts(self) -> int:
        """Return how many amounts there are, of all days and callers: up to five in a row."""
        pipeline = self._redis.pipeline(transaction=False)
        for day in _days():
            pipeline.hlen(keys.USAGE + day)
        return sum(await pipeline.execute())

    async def of_all(self) -> list[DayOfCaller]:
        """Return the days of all callers, newest first, then by caller."""
        rows = []
        for day in _days():
            fields: Any = await self._redis.hgetall(keys.USAGE + day)
            callers: dict[str, dict[str, Any]] = {}
            for name, amount in fields.items():
                what, _, caller = name.decode().partition(" ")
                callers.setdefault(caller, {})[what] = amount
            rows += [DayOfCaller(day, each, _used(callers[each])) for each in sorted(callers)]
        return rows


def _used(amounts: dict[str, Any]) -> Used:
    return Used(**{name: float(amounts.get(name) or 0) for name in NAMES})


def _days() -> Sequence[str]:
    today = datetime.now(UTC).date()
    return [(today - timedelta(days=back)).isoformat() for back in range(KEPT_DAYS)]

"""Results made on the way to a compilation, such as those of a front or back end, by key."""

from collections import Counter
from collections.abc import Mapping, Sequence

from redis.asyncio import Redis

from store import keys
from store.budget import Budget
from store.records import Hit, Miss, Records


class Derived:
    """The results of one `level`, such as "front" or "back": small values that name blobs."""

    def __init__(self, cache: Redis, level: str, budget: Budget | None = None) -> None:
        self._records = Records(cache, keys.derived(level), budget)

    @property
    def misses(self) -> Counter[Miss]:
        """How often `read` and `hit` found nothing, by reason."""
        return self._records.misses

    async def write(self, key: str, value: bytes, blobs: Mapping[str, str]) -> None:
        """Store `value`, whose `blobs` (digest by name) were all put before."""
        await self._records.write(key, value, blobs, {})

    async def read(self, key: str) -> bytes | None:
        """Return the value, None when it or any of its blobs is missing."""
        hit = await self._records.hit(key)
        return None if hit is None else hit.record

    async def hit(self, key: str, include: Sequence[str]) -> Hit | None:
        """Return the value and the included blobs in one round trip, None for a miss."""
        return await self._records.hit(key, include)

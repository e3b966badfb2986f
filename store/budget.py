"""The byte budget of the cache, for a cache on a server that must not evict by itself.

Where jobs and cache share one server, that server has to refuse rather than to evict, so the cache
keeps books: size and last use of every key. Uses are noted in memory and written in batches, never
one write per hit.
"""

from dataclasses import dataclass
from typing import Any, Final

from redis.asyncio import Redis

from store import keys, scripts

EVICTED_AT_ONCE: Final = 200
USES_AT_ONCE: Final = 500
FULL_RATIO: Final = 0.9  # of `maxmemory`: more in use, and the cache gives way
RELIEVED_RATIO: Final = 0.75


@dataclass(frozen=True, slots=True)
class Swept:
    """The result of an eviction sweep: keys and bytes evicted, bytes left."""

    evicted: int
    freed_bytes: int
    left_bytes: int


class Budget:
    """The books of one cache. Sizes are those of the values; the server needs somewhat more."""

    def __init__(self, cache: Redis, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._cache = cache
        self._uses: set[str] = set()
        self._account = scripts.load(cache, "account")
        self._use = scripts.load(cache, "use")
        self._sweep = scripts.load(cache, "sweep")

    async def account(self, sizes_bytes: dict[str, int]) -> None:
        """Enter keys about to be written: a crash in between leaves no key outside the books."""
        if sizes_bytes:
            await self._account(args=[part for item in sizes_bytes.items() for part in item])

    def note_use(self, key: str) -> None:
        """Note a use of a record (and thereby of its blobs); written by the next `flush`."""
        self._uses.add(key)

    async def flush(self) -> None:
        """Write the noted uses; call it every few seconds and before a sweep."""
        uses, self._uses = sorted(self._uses), set()
        for start in range(0, len(uses), USES_AT_ONCE):
            await self._use(args=uses[start : start + USES_AT_ONCE])

    async def sweep(self) -> Swept:
        """Evict the least recently used keys until the cache is within its budget.

        A server that has hardly any memory left is relieved first, as by then nothing may be
        written: uses are noted afterwards.
        """
        affordable_bytes = await self._affordable_bytes()
        if affordable_bytes < self.limit_bytes:
            swept = await self._evict(affordable_bytes)
            await self.flush()
            return swept
        await self.flush()
        return await self._evict(self.limit_bytes)

    async def _evict(self, limit_bytes: int) -> Swept:
        evicted = freed = 0
        while True:
            count, size, left = await self._sweep(args=[limit_bytes, EVICTED_AT_ONCE])
            evicted, freed = evicted + count, freed + size
            if count < EVICTED_AT_ONCE:
                return Swept(evicted, freed, left)

    async def _affordable_bytes(self) -> int:
        """Return what the cache may take: its budget, less when the server's memory is used up."""
        info: Any = await self._cache.info("memory")
        used, most = info["used_memory"], info["maxmemory"]
        if not most or used <= FULL_RATIO * most:
            return self.limit_bytes
        booked = int(await self._cache.get(keys.CACHE_BYTES) or 0)
        return max(0, min(self.limit_bytes, booked - int(used - RELIEVED_RATIO * most)))

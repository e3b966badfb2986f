"""The records of successful compilations, and of results on the way to them, by key.

Failures are results of jobs and never come here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import zstandard

from store import keys
from store.blobs import LIFE_S, Blobs
from store.records import Hit, Miss, Records

ALIASES_AT_ONCE: Final = 2_000


class Compilations:
    """Compilations by compile key: a JSON record, the request that made it, and blobs by stage."""

    def __init__(self, blobs: Blobs) -> None:
        self._cache = blobs.cache
        self._budget = blobs.budget
        self._aliases: dict[str, bytes] = {}
        self._records = Records(blobs, keys.COMPILATION)

    @property
    def misses(self) -> Counter[Miss]:
        """The number of misses of `hit` and `read`, by reason."""
        return self._records.misses

    async def write(
        self, key: str, record: bytes, request: bytes, blobs: Mapping[str, str]
    ) -> None:
        """Store a compilation whose `blobs` (digest by stage) were all put before."""
        frame = zstandard.ZstdCompressor(level=3).compress(request)
        await self._records.write(key, record, blobs, {"request": frame})

    async def hit(self, key: str, include: Sequence[str] = ()) -> Hit | None:
        """Return the record and the included stages in one round trip, None for a miss.

        A missing record, any missing blob and a damaged included blob are misses; a stage in
        `include` that the compilation does not have is left out.
        """
        return await self._records.hit(key, include)

    async def hit_of_alias(self, request_digest: str) -> Hit | None:
        """Return what a request asks for that some service has read before, in one round trip."""
        return await self._records.hit_of_alias(keys.REQUEST_ALIAS + request_digest)

    def note_alias(self, request_digest: str, key: str, include: Sequence[str]) -> None:
        """Note the key and stages of a request, so that no service reads it again; see `flush`."""
        if len(self._aliases) < ALIASES_AT_ONCE:  # beyond that some are read once more
            self._aliases[keys.REQUEST_ALIAS + request_digest] = " ".join((key, *include)).encode()

    async def flush(self) -> None:
        """Write the noted aliases; call it every few seconds."""
        aliases, self._aliases = self._aliases, {}
        if not aliases:
            return
        if self._budget:
            await self._budget.account({name: len(value) for name, value in aliases.items()})
        pipeline = self._cache.pipeline(transaction=False)
        for name, value in aliases.items():
            pipeline.set(name, value, ex=None if self._budget else LIFE_S)
        await pipeline.execute()

    async def read(self, key: str) -> bytes | None:
        """Return the record, None when it or any of its blobs is missing."""
        hit = await self._records.hit(key)
        return None if hit is None else hit.record

    async def request(self, key: str) -> bytes | None:
        """Return the request that made the compilation."""
        frame = await self._records.field(key, "request")
        return None if frame is None else zstandard.ZstdDecompressor().decompress(frame)

    def note_use(self, key: str) -> None:
        """Note a hit answered from a process's own memory, so that the key is not evicted."""
        self._records.note_use(key)

    async def forget(self, key: str) -> None:
        """Delete the record (a purge); the blobs stay until they are evicted."""
        await self._records.forget(key)


class Derived:
    """The results of one `level`, such as "front" or "back": small values that name blobs."""

    def __init__(self, blobs: Blobs, level: str) -> None:
        self._records = Records(blobs, keys.derived_prefix(level))

    @property
    def misses(self) -> Counter[Miss]:
        """The number of misses of `read` and `hit`, by reason."""
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

"""A record that names blobs: whole, or a miss. Compilations and derived results are such.

Blobs first, record last: a writer stores the blobs before the record, and a reader believes a
record only while all of its blobs are there, so an eviction is a miss and never an error.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, cast

from redis.asyncio import Redis

from store import scripts
from store.blobs import LIFE_S, MARKER, Blobs, kept_content_bytes
from store.errors import BucketUnavailable, IncludedTooLarge

READS_AT_ONCE: Final = 64


class Miss(StrEnum):
    """Why a read was a miss: no record, a blob evicted, damaged, or in a bucket that is away."""

    NO_RECORD = "no_record"
    NO_BLOB = "no_blob"
    DAMAGED_BLOB = "damaged_blob"
    BUCKET_AWAY = "bucket_away"


@dataclass(frozen=True, slots=True)
class Hit:
    """A whole record, the digests of its blobs, and the bytes of the included ones, by stage."""

    key: str
    record: bytes
    blobs: Mapping[str, str]
    included: Mapping[str, bytes]


@dataclass(slots=True)
class _Batch:
    """Reads that are asked together, and their answers in the same order."""

    reads: list[str]
    answers: asyncio.Task[list[list[bytes]]] | None = None


class _Reads:
    """Reads of one turn of the event loop are one round trip, which costs hardly more than one."""

    def __init__(self, cache: Redis) -> None:
        self._hit = scripts.load(cache, "hit")
        self._open: _Batch | None = None

    async def read(self, name: str, include: Sequence[str]) -> list[bytes]:
        """Return what `scripts/hit.lua` answers for one record."""
        batch = self._open
        if batch is None or len(batch.reads) >= READS_AT_ONCE:
            batch = self._open = _Batch([])
            batch.answers = asyncio.create_task(self._ask(batch))
        index = len(batch.reads)
        batch.reads.append(" ".join((name, *include)))
        assert batch.answers is not None
        answers = await asyncio.shield(batch.answers)
        return answers[index]

    async def _ask(self, batch: _Batch) -> list[list[bytes]]:
        # the task starts in the loop's next turn, so the batch has every read of this turn
        if self._open is batch:
            self._open = None
        answers: list[list[bytes]] = await self._hit(args=batch.reads)
        return answers


class Records:
    """Records under one key prefix, in the cache of their blobs.

    `misses` counts the reads that found nothing, by reason.
    """

    def __init__(self, blobs: Blobs, prefix: str) -> None:
        self.misses: Counter[Miss] = Counter()
        self._cache = blobs.cache
        self._prefix = prefix
        self._budget = blobs.budget
        self._blobs = blobs
        self._reads = _Reads(blobs.cache)
        self._drop = scripts.load(blobs.cache, "drop")

    async def _write(
        self, key: str, record: bytes, blobs: Mapping[str, str], extra: Mapping[str, bytes]
    ) -> None:
        """Store `record`, the digests of its `blobs` (stored before), and `extra` fields."""
        name = self._prefix + key
        named = " ".join(f"{stage} {digest}" for stage, digest in blobs.items())
        fields: dict[Any, Any] = {"record": record, "blobs": named.encode(), **extra}
        if self._budget:
            await self._budget.account({name: sum(map(len, fields.values()))})
        pipeline = self._cache.pipeline(transaction=True)
        pipeline.delete(name)
        pipeline.hset(name, mapping=fields)
        if not self._budget:
            pipeline.expire(name, LIFE_S)
        await pipeline.execute()

    async def hit(
        self, key: str, include: Sequence[str] = (), *, limit_bytes: int | None = None
    ) -> Hit | None:
        """Return the record and the included blobs in one round trip, None for a miss.

        A missing record, any missing blob and a damaged included blob are misses; a name in
        `include` that the record does not have is left out. Raises IncludedTooLarge before it
        unpacks blobs of more than `limit_bytes` together, or fetches them from a bucket.
        """
        name = self._prefix + key
        if key.split() != [key]:  # a blank would end the name in the script
            self.misses[Miss.NO_RECORD] += 1
            return None
        status, *parts = await self._reads.read(name, include)
        if status != b"hit":
            self.misses[Miss(status.decode())] += 1
            return None
        return await self._whole(parts, limit_bytes)

    async def read(self, key: str) -> bytes | None:
        """Return the record, None when it or any of its blobs is missing."""
        hit = await self.hit(key)
        return None if hit is None else hit.record

    async def peek(self, keys_: Sequence[str]) -> list[bytes | None]:
        """Return records as they are, whether or not their blobs are there; that uses none."""
        pipeline = self._cache.pipeline(transaction=False)
        for key in keys_:
            pipeline.hget(self._prefix + key, "record")
        return cast("list[bytes | None]", await pipeline.execute())

    async def _whole(self, parts: Sequence[bytes], limit_bytes: int | None) -> Hit | None:
        read, record, named, *frames = parts
        if limit_bytes is not None:
            size_bytes = sum(map(kept_content_bytes, frames))
            if size_bytes > limit_bytes:
                raise IncludedTooLarge(size_bytes, limit_bytes)
        name, *include = read.decode().split()
        key = name.removeprefix(self._prefix)
        words = named.decode().split()
        blobs = dict(zip(words[::2], words[1::2], strict=True))
        included = {}
        stages = [stage for stage in blobs if stage in include]
        if [kept for kept in frames if kept.startswith(MARKER)]:
            fetched = await self._fetch(frames, [blobs[stage] for stage in stages])
            if isinstance(fetched, Miss):
                self.misses[fetched] += 1
                return None
            frames = fetched
        for stage, frame in zip(stages, frames, strict=True):
            data = await self._blobs.verify(frame, blobs[stage])
            if data is None:
                self.misses[Miss.DAMAGED_BLOB] += 1
                return None
            included[stage] = data
        self.note_use(key)
        return Hit(key, record, blobs, included)

    async def _fetch(self, kept: Sequence[bytes], digests: Sequence[str]) -> list[bytes] | Miss:
        """Return the frames of blobs, some of which are in the bucket."""
        try:
            frames = await asyncio.gather(*map(self._blobs.frame_of, kept, digests))
        except BucketUnavailable:
            return Miss.BUCKET_AWAY
        present = [frame for frame in frames if frame is not None]
        return present if len(present) == len(frames) else Miss.NO_BLOB

    def note_use(self, key: str) -> None:
        """Note a hit answered from a process's own memory, so that the key is not evicted."""
        if self._budget:
            self._budget.note_use(self._prefix + key)

    async def forget(self, key: str) -> None:
        """Delete the record (a purge); its blobs stay until they are evicted."""
        await self._drop(args=[self._prefix + key])

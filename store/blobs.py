"""Bytes by their digest: put, get, exists, and nothing else, so that an object store can follow.

A blob is kept as a zstd frame, which can be sent as it is to whoever accepts zstd. It is verified
on every read: bytes that do not match their digest are deleted and were never there.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from typing import Final, cast

import zstandard
from redis.asyncio import Redis

from store import keys, scripts
from store.budget import Budget

LEVEL: Final = 3
MAX_BLOB_BYTES: Final = 512 * 1024 * 1024
# Without a byte budget the server evicts, and `volatile-*` policies only evict what expires.
LIFE_S: Final = 30 * 24 * 3600
MOST_ON_THE_LOOP_BYTES: Final = 4 << 20
"""What is hashed and compressed at once; more would hold up everything else of the process."""


def digest_of(data: bytes | bytearray) -> str:
    """Return the name of `data`: "sha256:" and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


async def digest_beside(data: bytes | bytearray) -> str:
    """Return the same, made beside the event loop where that takes long."""
    if len(data) > MOST_ON_THE_LOOP_BYTES:
        return await asyncio.to_thread(digest_of, data)
    return digest_of(data)


def _packed(parts: Sequence[bytes | bytearray]) -> tuple[list[str], list[bytes]]:
    """Return the digests of `parts`, and their zstd frames."""
    compressor = zstandard.ZstdCompressor(level=LEVEL)
    return [digest_of(part) for part in parts], [compressor.compress(part) for part in parts]


def unpack_frame(frame: bytes, digest: str) -> bytes | None:
    """Return the bytes in a zstd frame, None when they are not those that `digest` names."""
    try:
        if zstandard.frame_content_size(frame) > MAX_BLOB_BYTES:
            return None
        data = zstandard.ZstdDecompressor().decompress(frame)
    except zstandard.ZstdError:
        return None
    return data if digest_of(data) == digest else None


class Blobs:
    """The blobs of one cache. `mismatches` counts those that were deleted as damaged."""

    def __init__(self, cache: Redis, budget: Budget | None = None) -> None:
        self.mismatches = 0
        self._cache = cache
        self._budget = budget
        self._drop = scripts.load(cache, "drop")

    async def put(self, data: bytes | bytearray) -> str:
        """Store `data` and return its digest."""
        (digest,) = await self.put_many([data])
        return digest

    async def put_many(self, parts: Sequence[bytes | bytearray]) -> list[str]:
        """Store all of `parts` in one pipeline and return their digests in the same order.

        A blob that is there is written again, which repairs a damaged one.
        """
        if not parts:
            return []
        if sum(map(len, parts)) > MOST_ON_THE_LOOP_BYTES:
            digests, packed = await asyncio.to_thread(_packed, parts)
        else:
            digests, packed = _packed(parts)
        frames = {keys.BLOB + digest: frame for digest, frame in zip(digests, packed, strict=True)}
        if self._budget:
            await self._budget.account({key: len(frame) for key, frame in frames.items()})
        pipeline = self._cache.pipeline(transaction=False)
        for key, frame in frames.items():
            pipeline.set(key, frame, ex=None if self._budget else LIFE_S)
        await pipeline.execute()
        return digests

    async def allow(self, digests: Iterable[str], namespace: str) -> None:
        """Let callers of `namespace` read blobs by their digests alone; see `may_read`."""
        pipeline = self._cache.pipeline(transaction=False)
        for name in (keys.BLOB_READERS + digest for digest in digests):
            pipeline.sadd(name, namespace)
            pipeline.expire(name, LIFE_S)
        await pipeline.execute()

    async def may_read(self, digest: str, namespace: str) -> bool:
        """Whether a compilation of `namespace` made or uses this blob, and it is still there."""
        pipeline = self._cache.pipeline(transaction=False)
        pipeline.sismember(keys.BLOB_READERS + digest, namespace)
        pipeline.exists(keys.BLOB + digest)
        return all(await pipeline.execute())

    async def get(self, digest: str) -> bytes | None:
        """Return the bytes that `digest` names, None when they are missing or damaged."""
        frame = await self.get_frame(digest)
        return None if frame is None else await self.verify(frame, digest)

    async def get_frame(self, digest: str) -> bytes | None:
        """Return the zstd frame of the bytes that `digest` names, as stored and not verified."""
        return cast("bytes | None", await self._cache.get(keys.BLOB + digest))

    async def exists(self, digest: str) -> bool:
        """Return whether there is a blob of that name."""
        return bool(await self._cache.exists(keys.BLOB + digest))

    async def verify(self, frame: bytes, digest: str) -> bytes | None:
        """Return the bytes in `frame`; when they are not those of `digest` the blob is deleted."""
        data = unpack_frame(frame, digest)
        if data is None:
            self.mismatches += 1
            await self._drop(args=[keys.BLOB + digest])
        return data

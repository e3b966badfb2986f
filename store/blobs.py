"""Bytes by their digest: put, get, exists, and nothing else.

They are in the cache; with a bucket, large ones are there, and the cache keeps markers of them. A
blob is stored as a zstd frame, which is sent unchanged to clients that accept zstd. It is
verified on every read: bytes that do not match their digest are deleted and count as missing.
"""

import asyncio
import secrets
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from typing import Final, cast

from redis.asyncio import Redis

from store import keys, scripts
from store.bucket import Bucket
from store.budget import Budget
from store.errors import BucketUnavailable
from store.frames import MAX_BLOB_BYTES, content_bytes_of, most_frame_bytes, packed, unpacked

# Without a byte budget the server evicts, and `volatile-*` policies only evict what expires.
LIFE_S: Final = 30 * 24 * 3600
LARGE_BYTES: Final = 16 << 10
"""Frames from this size on go into the bucket, if there is one."""
MARKER: Final = b"bucket:"
"""A value of the cache that begins so refers to a frame in the bucket. What follows is its size
and that of its content: "bucket:800/2000". Earlier versions wrote the first alone. No zstd frame
begins so."""
MARKER_BYTES: Final = 768
"""Booked for a marker. With its key, readers and entries in the books it takes 630."""
SENT_BYTES: Final = 4 << 20
"""Larger frames go to and come from the cache in pieces: one is copied in one step of a loop."""
_ARRIVING_LIFE_S: Final = 600
_ARRIVING: Final = ":arriving:"
"""Follows the key of a frame in that of its pieces, before a random part."""


def kept_content_bytes(kept: bytes) -> int:
    """Return the size of a blob from the cache's entry for it; 0 where that does not name it."""
    if kept.startswith(MARKER):
        _, _, known = kept.removeprefix(MARKER).partition(b"/")
        return int(known) if known.isdigit() else 0
    return max(0, content_bytes_of(kept))


class Blobs:
    """The blobs of one cache, whose records share its server and budget.

    With a `bucket` the cache keeps only markers of large blobs. A marker is written after its
    frame, so readers treat it as they would treat the frame. `mismatches` counts the blobs that
    were deleted as damaged.
    """

    def __init__(
        self, cache: Redis, budget: Budget | None = None, bucket: Bucket | None = None
    ) -> None:
        self.cache = cache
        self.budget = budget
        self.bucket = bucket
        self.mismatches = 0
        self._drop = scripts.load(cache, "drop")

    async def put(self, data: bytes) -> str:
        """Store `data` and return its digest."""
        (digest,) = await self.put_many([data])
        return digest

    async def put_frame(self, digest: str, frame: bytearray) -> None:
        """Store the zstd frame of the bytes that `digest` names."""
        await self._put({digest: frame})

    async def put_many(self, parts: Sequence[bytes]) -> list[str]:
        """Store all of `parts` at once and return their digests in the same order.

        A blob that is there is written again, which repairs a damaged one.
        """
        if not parts:
            return []
        blobs = [await packed(part) for part in parts]
        await self._put(dict(blobs))
        return [digest for digest, _ in blobs]

    async def _put(self, frames: Mapping[str, bytes | bytearray]) -> None:
        """Store frames by digest: the large ones in the bucket, then the others and markers."""
        moved = await self._move_to_bucket(frames)
        values = {keys.BLOB + digest: memoryview(frame) for digest, frame in frames.items()}
        sizes_bytes = {key: len(value) for key, value in values.items()}
        for digest in moved:
            sizes = b"%d/%d" % (len(frames[digest]), content_bytes_of(frames[digest]))
            values[keys.BLOB + digest] = memoryview(MARKER + sizes)
            sizes_bytes[keys.BLOB + digest] = MARKER_BYTES
        if self.budget:
            await self.budget.account(sizes_bytes)
        life_s = None if self.budget else LIFE_S
        pipeline = self.cache.pipeline(transaction=False)
        for key, value in values.items():
            if len(value) <= SENT_BYTES:
                pipeline.set(key, value, ex=life_s)
            else:
                await self._set_in_pieces(key, value, life_s)
        await pipeline.execute()

    async def _set_in_pieces(self, key: str, value: memoryview, life_s: int | None) -> None:
        """Set a large value: its pieces go to another key, which takes the place of `key`."""
        arriving = f"{key}{_ARRIVING}{secrets.token_hex(8)}"
        # the last piece first, so that the server makes room once
        for at in reversed(range(0, len(value), SENT_BYTES)):
            pipeline = self.cache.pipeline(transaction=False)
            pipeline.setrange(arriving, at, value[at : at + SENT_BYTES])
            pipeline.expire(arriving, _ARRIVING_LIFE_S)
            await pipeline.execute()
        pipeline = self.cache.pipeline(transaction=True)
        pipeline.rename(arriving, key)
        if life_s is None:
            pipeline.persist(key)
        else:
            pipeline.expire(key, life_s)
        await pipeline.execute()

    async def _move_to_bucket(self, frames: Mapping[str, bytes | bytearray]) -> list[str]:
        """Put large frames into the bucket, if there is one; return the digests of those in it.

        A bucket that is away takes none: they stay in the cache.
        """
        if self.bucket is None:
            return []
        large = [digest for digest, frame in frames.items() if len(frame) >= LARGE_BYTES]
        puts = (self.bucket.put(digest, frames[digest]) for digest in large)
        results = await asyncio.gather(*puts, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, BucketUnavailable):
                raise result
        return [digest for digest, result in zip(large, results, strict=True) if result is None]

    async def allow(self, digests: Iterable[str], namespace: str) -> None:
        """Let callers of `namespace` read blobs by their digests alone; see `may_read`."""
        pipeline = self.cache.pipeline(transaction=False)
        for name in (keys.BLOB_READERS + digest for digest in digests):
            pipeline.sadd(name, namespace)
            pipeline.expire(name, LIFE_S)
        await pipeline.execute()

    async def may_read(self, digest: str, namespace: str) -> bool:
        """Return True if a compilation of `namespace` uses this blob, and it still exists."""
        return bool(await self.readable([digest], namespace))

    async def readable(self, digests: Iterable[str], namespace: str) -> list[str]:
        """Return those of `digests` that `namespace` may read, and whose blobs still exist."""
        names = [*digests]
        if not names:
            return []
        pipeline = self.cache.pipeline(transaction=False)
        for digest in names:
            pipeline.sismember(keys.BLOB_READERS + digest, namespace)
            pipeline.exists(keys.BLOB + digest)
        answers = await pipeline.execute()
        pairs = zip(names, answers[::2], answers[1::2], strict=True)
        return [digest for digest, *both in pairs if all(both)]

    async def get(self, digest: str) -> bytes | None:
        """Return the bytes that `digest` names, None when they are missing or damaged.

        Raises BucketUnavailable.
        """
        frame = await self.get_frame(digest)
        return None if frame is None else await self.verify(frame, digest)

    async def get_frame(self, digest: str) -> bytes | None:
        """Return the zstd frame of the bytes that `digest` names, as stored and not verified.

        Raises BucketUnavailable.
        """
        kept = await self._get_in_pieces(keys.BLOB + digest)
        frame = None if kept is None else await self.frame_of(kept, digest)
        return await self.verify(frame, digest) if frame == b"" else frame

    async def _get_in_pieces(self, name: str) -> bytes | None:
        """Return a value, None if there is none."""
        piece = await self._piece(name, 0)
        if not piece:
            return piece if await self.cache.exists(name) else None
        if len(piece) < SENT_BYTES:
            return piece
        content = BytesIO()
        while piece:
            await asyncio.to_thread(content.write, piece)
            piece = await self._piece(name, content.tell())
        return content.getvalue()

    async def _piece(self, name: str, at: int) -> bytes:
        return cast("bytes", await self.cache.getrange(name, at, at + SENT_BYTES - 1))

    async def frame_of(self, kept: bytes, digest: str) -> bytes | None:
        """Return the frame that the cache keeps or marks; None if the bucket has lost it.

        It is empty, so that `verify` refuses it, in place of one whose content has another size:
        a server may send little that unpacks to much. Raises BucketUnavailable; the marker stays
        then.
        """
        if not kept.startswith(MARKER):
            return kept
        _, _, known = kept.removeprefix(MARKER).partition(b"/")
        content_bytes = int(known) if known.isdigit() else None
        most = most_frame_bytes(MAX_BLOB_BYTES if content_bytes is None else content_bytes)
        frame = None if self.bucket is None else await self.bucket.get(digest, most)
        if frame is None:
            await self._drop(args=[keys.BLOB + digest])
            return None
        return frame if content_bytes in (None, content_bytes_of(frame)) else b""

    async def signed_url(self, digest: str) -> str | None:
        """Return a URL of the bucket at which anyone may get the frame for a minute.

        None if the cache has it, or the bucket is away.
        """
        name = keys.BLOB + digest
        if self.bucket is None or await self.cache.getrange(name, 0, len(MARKER) - 1) != MARKER:
            return None
        try:
            return await self.bucket.signed_url(digest)
        except BucketUnavailable:
            return None

    async def exists(self, digest: str) -> bool:
        """Return whether there is a blob of that name."""
        return bool(await self.cache.exists(keys.BLOB + digest))

    async def verify(self, frame: bytes, digest: str) -> bytes | None:
        """Return the bytes in `frame`; when they are not those of `digest` the blob is deleted."""
        data = await unpacked(frame, digest)
        if data is None:
            self.mismatches += 1
            await self._drop(args=[keys.BLOB + digest])
        return data

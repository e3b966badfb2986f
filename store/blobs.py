"""Bytes by their digest: put, get, exists, and nothing else.

They are in the cache; with a bucket, large ones are there, and the cache keeps markers of them. A
blob is stored as a zstd frame, which is sent unchanged to clients that accept zstd. It is
verified on every read: bytes that do not match their digest are deleted and count as missing.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

import zstandard
from redis.asyncio import Redis

from store import keys, scripts
from store.bucket import Bucket
from store.budget import Budget
from store.errors import BucketUnavailable

LEVEL: Final = 3
PART_BYTES: Final = 1024 * 1024
MAX_BLOB_BYTES: Final = 512 * 1024 * 1024
# Without a byte budget the server evicts, and `volatile-*` policies only evict what expires.
LIFE_S: Final = 30 * 24 * 3600
LARGE_BYTES: Final = 16 << 10
"""Frames from this size on go into the bucket, if there is one."""
MARKER: Final = b"bucket:"
"""A value of the cache that begins so stands for a frame in the bucket. What follows is its size
and that of its content: "bucket:800/2000". Earlier versions wrote the first alone. No zstd frame
begins so."""
MARKER_BYTES: Final = 768
"""Booked for a marker. With its key, readers and entries in the books it takes 630."""
# Making one takes as long as unpacking a stage. Only the event loop unpacks, so it can be shared.
_DECOMPRESSOR: Final = zstandard.ZstdDecompressor()


def digest_of(data: bytes) -> str:
    """Return the name of `data`: "sha256:" and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


class ArrivingBlob:
    """A blob of `size_bytes` that comes in parts: what came is compressed, and kept as that alone.

    `finish` raises ValueError when there came more or less.
    """

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.frame = bytearray()
        self._came_bytes = 0
        self._waiting = bytearray()
        self._digest = hashlib.sha256()
        self._compressor: zstandard.ZstdCompressionObj | None = None

    def add(self, part: bytes | bytearray) -> None:
        """Take the next part."""
        self._came_bytes += len(part)
        self._waiting += part
        if len(self._waiting) >= PART_BYTES:
            self._compress()

    def finish(self) -> str:
        """Return the digest; `frame` is complete then."""
        if self._came_bytes != self.size_bytes:
            raise ValueError(f"{self._came_bytes} bytes came of {self.size_bytes}")
        self.frame += self._compress().flush()
        return "sha256:" + self._digest.hexdigest()

    def _compress(self) -> "zstandard.ZstdCompressionObj":
        # made when there is something for it, as it takes more than a megabyte itself
        if self._compressor is None:
            compressor = zstandard.ZstdCompressor(level=LEVEL)
            self._compressor = compressor.compressobj(size=self.size_bytes)
        self._digest.update(self._waiting)
        self.frame += self._compressor.compress(self._waiting)
        self._waiting.clear()
        return self._compressor


def _content_bytes(frame: bytes | bytearray) -> int:
    """Return the size that a zstd frame says its content has, -1 for none, or for no frame."""
    try:
        return zstandard.frame_content_size(frame)
    except zstandard.ZstdError:
        return -1


def _most_frame_bytes(content_bytes: int) -> int:
    """Return the most that a frame of so much content takes, whatever version of zstd made it."""
    return content_bytes + content_bytes // 128 + (1 << 10)


def unpack_frame(frame: bytes, digest: str) -> bytes | None:
    """Return the bytes in a zstd frame, None when they are not those that `digest` names."""
    try:
        if zstandard.frame_content_size(frame) > MAX_BLOB_BYTES:
            return None
        data = _DECOMPRESSOR.decompress(frame)
    except zstandard.ZstdError:
        return None
    return data if digest_of(data) == digest else None


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
        digests = [digest_of(part) for part in parts]
        compressor = zstandard.ZstdCompressor(level=LEVEL)
        await self._put(
            {digest: compressor.compress(part) for digest, part in zip(digests, parts, strict=True)}
        )
        return digests

    async def _put(self, frames: Mapping[str, bytes | bytearray]) -> None:
        """Store frames by digest: the large ones in the bucket, then the others and markers."""
        moved = await self._move_to_bucket(frames)
        values = {keys.BLOB + digest: memoryview(frame) for digest, frame in frames.items()}
        sizes_bytes = {key: len(value) for key, value in values.items()}
        for digest in moved:
            sizes = b"%d/%d" % (len(frames[digest]), _content_bytes(frames[digest]))
            values[keys.BLOB + digest] = memoryview(MARKER + sizes)
            sizes_bytes[keys.BLOB + digest] = MARKER_BYTES
        if self.budget:
            await self.budget.account(sizes_bytes)
        pipeline = self.cache.pipeline(transaction=False)
        for key, value in values.items():
            pipeline.set(key, value, ex=None if self.budget else LIFE_S)
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
        pipeline = self.cache.pipeline(transaction=False)
        pipeline.sismember(keys.BLOB_READERS + digest, namespace)
        pipeline.exists(keys.BLOB + digest)
        return all(await pipeline.execute())

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
        kept = cast("bytes | None", await self.cache.get(keys.BLOB + digest))
        frame = None if kept is None else await self.frame_of(kept, digest)
        return await self.verify(frame, digest) if frame == b"" else frame

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
        most = _most_frame_bytes(MAX_BLOB_BYTES if content_bytes is None else content_bytes)
        frame = None if self.bucket is None else await self.bucket.get(digest, most)
        if frame is None:
            await self._drop(args=[keys.BLOB + digest])
            return None
        return frame if content_bytes in (None, _content_bytes(frame)) else b""

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
        data = unpack_frame(frame, digest)
        if data is None:
            self.mismatches += 1
            await self._drop(args=[keys.BLOB + digest])
        return data

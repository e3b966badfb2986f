"""Uploaded tensors: .npy files as blobs, each visible to the caller who uploaded it only.

What is in the file is not looked at here. A file that the cache had to evict is gone; its caller
learns so at its next launch, and uploads it again.
"""

from typing import Any, Final

from redis.asyncio import Redis

from store import keys
from store.blobs import Blobs
from store.errors import StoreError
from store.frames import ArrivingBlob

LIFE_S: Final = 24 * 3600


class TensorQuotaExceeded(StoreError):
    """The caller's uploads together are larger than allowed."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(
            f"Your uploaded tensors would exceed {limit_bytes} bytes together. "
            "Delete some with DELETE /v1/tensors/{digest}, or wait until they expire."
        )
        self.limit_bytes = limit_bytes


class Tensors:
    """The uploads of all callers."""

    def __init__(self, redis: Redis, blobs: Blobs, limit_bytes: int) -> None:
        self._redis = redis
        self._blobs = blobs
        self._limit_bytes = limit_bytes

    async def put(self, caller: str, digest: str, blob: ArrivingBlob) -> bool:
        """Store a file that has arrived, of that digest; return whether it is new to this caller.

        Raises TensorQuotaExceeded.
        """
        is_new = not await self.has(caller, digest)
        used_bytes = await self._reserve(caller, digest, blob.size_bytes)
        if is_new and used_bytes > self._limit_bytes:
            await self.delete(caller, digest)
            raise TensorQuotaExceeded(self._limit_bytes)
        await self._blobs.put_frame(digest, blob.frame)
        return is_new

    async def _reserve(self, caller: str, digest: str, size_bytes: int) -> int:
        """Enter a file into the caller's books and return what they come to.

        Before the file is stored: uploads that come together must see each other.
        """
        books = keys.TENSOR_BYTES + caller
        await self._forget_expired(caller)
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.set(self._name(caller, digest), size_bytes, ex=LIFE_S)
        pipeline.zadd(books, {digest: size_bytes})
        pipeline.expire(books, LIFE_S)
        pipeline.zrange(books, 0, -1, withscores=True)
        *_, sizes = await pipeline.execute()
        return sum(int(size) for _, size in sizes)

    async def has(self, caller: str, digest: str) -> bool:
        """Return whether the caller uploaded it, and it has not expired."""
        return await self.size(caller, digest) is not None

    async def size(self, caller: str, digest: str) -> int | None:
        """Return the file's bytes; None when the caller did not upload it or it is gone."""
        size: Any = await self._redis.get(self._name(caller, digest))
        if size is None or not await self._blobs.exists(digest):
            return None
        return int(size)

    async def delete(self, caller: str, digest: str) -> bool:
        """Take the caller's hold off the file; False when there was none."""
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.delete(self._name(caller, digest))
        pipeline.zrem(keys.TENSOR_BYTES + caller, digest)
        deleted, _ = await pipeline.execute()
        return bool(deleted)

    async def _forget_expired(self, caller: str) -> None:
        books = keys.TENSOR_BYTES + caller
        members: Any = await self._redis.zrange(books, 0, -1)
        for digest in members:
            if not await self._redis.exists(self._name(caller, digest.decode())):
                await self._redis.zrem(books, digest)

    @staticmethod
    def _name(caller: str, digest: str) -> str:
        return f"{keys.TENSOR}{caller}:{digest}"

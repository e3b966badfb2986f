"""Uploaded tensors: .npy files as blobs, each visible to the caller who uploaded it only.

What is in the file is not looked at here.
"""

from typing import Any, Final

from redis.asyncio import Redis

from store import keys
from store.blobs import Blobs, digest_of
from store.errors import StoreError

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

    async def put(self, caller: str, data: bytes) -> tuple[str, bool]:
        """Store a file; return its digest and whether it is new to this caller.

        Raises TensorQuotaExceeded.
        """
        books = keys.TENSOR_BYTES + caller
        await self._forget_expired(caller)
        sizes: Any = await self._redis.zrange(books, 0, -1, withscores=True)
        total = sum(int(size) for _, size in sizes)
        digest = digest_of(data)
        is_new = not await self.has(caller, digest)
        if is_new and total + len(data) > self._limit_bytes:
            raise TensorQuotaExceeded(self._limit_bytes)
        await self._blobs.put(data)
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.set(self._name(caller, digest), len(data), ex=LIFE_S)
        pipeline.zadd(books, {digest: len(data)})
        pipeline.expire(books, LIFE_S)
        await pipeline.execute()
        return digest, is_new

    async def get(self, caller: str, digest: str) -> bytes | None:
        """Return the file, None when the caller did not upload it or it is gone."""
        if not await self.has(caller, digest):
            return None
        return await self._blobs.get(digest)

    async def has(self, caller: str, digest: str) -> bool:
        """Return whether the caller uploaded it, and it has not expired."""
        return bool(await self._redis.exists(self._name(caller, digest)))

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
            if not await self.has(caller, digest.decode()):
                await self._redis.zrem(books, digest)

    @staticmethod
    def _name(caller: str, digest: str) -> str:
        return f"{keys.TENSOR}{caller}:{digest}"

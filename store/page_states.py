"""States of the web page by their digest: what a permalink leads to, for all of its namespace.

They are links that people keep, so they are no cache: each is held by the callers who stored it,
within a budget of each, whose oldest give way. What is in a state is not looked at here.
"""

from typing import Any, Final

from redis.asyncio import Redis

from store import keys, scripts
from store.frames import packed, unpacked

LIFE_S: Final = 366 * 24 * 3600
"""Lifetime of a state after it was last stored or read."""
SHORT_CHARS: Final = len("sha256:") + 32
"""The first characters of a digest are a state's short name: 128 bits, so that no two states with
one short name can be found."""
OLD_SHORT_CHARS: Final = len("sha256:") + 16
"""Earlier versions stored short names of 64 bits: they can still be read, but none are added."""
KEYS_BYTES: Final = 1024
"""The names and records of a state count too, so that many small ones are also bounded."""


class PageStates:
    """The states of all namespaces; `limit_bytes` is what those of one caller may take."""

    def __init__(self, redis: Redis, limit_bytes: int) -> None:
        self._redis = redis
        self._limit_bytes = limit_bytes
        self._keep = scripts.load(redis, "keep_state")

    async def put(self, namespace: str, caller: str, data: bytes) -> tuple[str, bool]:
        """Store a state; return its digest, and whether it is new to the namespace.

        Raises StoreUnavailable.
        """
        digest, frame = await packed(data)
        bounds = (self._limit_bytes, LIFE_S, KEYS_BYTES, SHORT_CHARS, OLD_SHORT_CHARS)
        is_new = await self._keep(args=[namespace, caller, digest, bytes(frame), *bounds])
        return digest, bool(is_new)

    async def get(self, namespace: str, digest: str) -> bytes | None:
        """Return a state, which lives for another `LIFE_S`; None where there is none.

        `digest` may be a short name. Raises StoreUnavailable.
        """
        if len(digest) in (SHORT_CHARS, OLD_SHORT_CHARS):
            short: Any = await self._redis.getex(
                f"{keys.STATE_SHORT}{namespace}:{digest}", ex=LIFE_S
            )
            if short is None:
                return None
            digest = short.decode()
        name = f"{namespace}:{digest}"
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.getex(keys.STATE + name, ex=LIFE_S)
        pipeline.expire(keys.STATE_HOLDERS + name, LIFE_S)
        frame, _ = await pipeline.execute()
        return None if frame is None else await unpacked(frame, digest)

"""Idempotency keys: the same key and body of a caller mean the same launch, for a day."""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import orjson
from redis.asyncio import Redis

from store import keys

LIFE_S: Final = 24 * 3600


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a key was used for first."""

    launch_id: str
    body_digest: str

    def is_same(self, body: bytes) -> bool:
        """Whether it was used with this body."""
        return self.body_digest == hashlib.sha256(body).hexdigest()


class Idempotency:
    """The idempotency keys of all callers."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def claim(self, caller: str, key: str, launch_id: str, body: bytes) -> Remembered:
        """Use `key` for `launch_id`, unless it was used before; return what it stands for."""
        digest = hashlib.sha256(body).hexdigest()
        value = orjson.dumps({"launch_id": launch_id, "body_digest": digest})
        first: Any = await self._redis.set(_name(caller, key), value, nx=True, get=True, ex=LIFE_S)
        return Remembered(**orjson.loads(first or value))

    async def release(self, caller: str, key: str) -> None:
        """Forget `key`: what it was used for was refused, and may be mended."""
        await self._redis.delete(_name(caller, key))


def _name(caller: str, key: str) -> str:
    return f"{keys.IDEMPOTENCY}{caller}:{hashlib.sha256(key.encode()).hexdigest()}"

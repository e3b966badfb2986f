"""API keys. Only digests are stored: a secret has 256 random bits, so a plain hash is enough."""

import hashlib
import secrets
from dataclasses import asdict, dataclass
from typing import Any, Final

import orjson
from redis.asyncio import Redis

from store import keys
from store.connection import EssentialWrites

SECRET_PREFIX: Final = "tritond_"  # noqa: S105  (makes leaked secrets easy to find)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key: who it is for, what it may do, and the cache namespace it works in."""

    id: str
    name: str
    scopes: tuple[str, ...]
    namespace: str


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _parse(value: bytes) -> ApiKey:
    fields = orjson.loads(value)
    return ApiKey(**{**fields, "scopes": tuple(fields["scopes"])})


class ApiKeys:
    """The keys of the deployment."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def create(
        self, name: str, scopes: tuple[str, ...], namespace: str = ""
    ) -> tuple[ApiKey, str]:
        """Make a key and return it with its secret, which cannot be had again."""
        secret = SECRET_PREFIX + secrets.token_urlsafe(32)
        key = ApiKey(secrets.token_hex(8), name, scopes, namespace)
        await self._store(key, secret)
        return key, secret

    async def adopt(self, secret: str, name: str, scopes: tuple[str, ...]) -> None:
        """Store a key whose secret was chosen elsewhere; the same secret is the same key."""
        await self._store(ApiKey(_digest(secret)[:16], name, scopes, ""), secret)

    async def _store(self, key: ApiKey, secret: str) -> None:
        description = orjson.dumps(asdict(key)).decode()
        await EssentialWrites(self._redis).write(
            ("HSET", keys.API_KEYS, _digest(secret), description),
            ("PUBLISH", keys.API_KEYS_CHANGED, ""),
        )

    async def find(self, secret: str) -> ApiKey | None:
        """Return the key that `secret` opens, None for a wrong or revoked one."""
        value: Any = await self._redis.hget(keys.API_KEYS, _digest(secret))
        return None if value is None else _parse(value)

    async def revoke(self, key_id: str) -> bool:
        """Make the secret of a key worthless from now on; False when there is no such key."""
        found: Any = await self._redis.hgetall(keys.API_KEYS)
        digests = [digest for digest, value in found.items() if _parse(value).id == key_id]
        if not digests or not await self._redis.hdel(keys.API_KEYS, *digests):
            return False
        await self._redis.publish(keys.API_KEYS_CHANGED, b"")
        return True

    async def list(self) -> list[ApiKey]:
        """Return all keys by name."""
        found: Any = await self._redis.hgetall(keys.API_KEYS)
        return sorted(map(_parse, found.values()), key=lambda key: (key.name, key.id))

    async def any(self) -> bool:
        """Return whether there is any key at all."""
        return bool(await self._redis.hlen(keys.API_KEYS))

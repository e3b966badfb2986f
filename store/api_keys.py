"""API keys. Only digests are stored: a secret has 256 random bits, so a plain hash is enough."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import orjson
from redis.asyncio import Redis

from store import keys, scripts
from store.connection import EssentialWrites

SECRET_PREFIX: Final = "tritond_"  # noqa: S105  (makes leaked secrets easy to find)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key: who it is for, what it may do, and the cache namespace it works in."""

    id: str
    name: str
    scopes: tuple[str, ...]
    namespace: str
    requests_per_s: float | None = None
    """None: as many as come."""
    gpu_seconds_per_hour: float | None = None
    """None: no limit."""
    created_at: str | None = None
    """In UTC, as 2026-11-27T01:02:03+00:00; None for a key of an earlier version."""
    expires_at: str | None = None
    """None: never."""

    def is_expired(self) -> bool:
        """Return whether the key is worthless by now."""
        return self.expires_at is not None and self.expires_at <= _now()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _parse(value: bytes) -> ApiKey:
    fields = orjson.loads(value)
    return ApiKey(**{**fields, "scopes": tuple(fields["scopes"])})


def _changed(key: ApiKey, limits: Mapping[str, Any]) -> ApiKey:
    return replace(key, **limits)


class ApiKeys:
    """The keys of the deployment."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def create(
        self,
        name: str,
        scopes: tuple[str, ...],
        namespace: str = "",
        *,
        requests_per_s: float | None = None,
        gpu_seconds_per_hour: float | None = None,
        expires_at: str | None = None,
    ) -> tuple[ApiKey, str]:
        """Make a key and return it with its secret, which cannot be had again."""
        secret = SECRET_PREFIX + secrets.token_urlsafe(32)
        limits = (requests_per_s, gpu_seconds_per_hour)
        key = ApiKey(secrets.token_hex(8), name, scopes, namespace, *limits, _now(), expires_at)
        await self._store(key, _digest(secret))
        return key, secret

    async def adopt(self, secret: str, name: str, scopes: tuple[str, ...]) -> None:
        """Store a key whose secret was chosen elsewhere; the same secret is the same key."""
        if await self.find(secret) is None:  # else it may have got limits since
            key = ApiKey(_digest(secret)[:16], name, scopes, "", created_at=_now())
            await self._store(key, _digest(secret))

    async def update(self, key_id: str, limits: Mapping[str, float | None]) -> ApiKey | None:
        """Set limits of a key, None to lift one; None is returned where there is no such key."""
        found: Any = await self._redis.hgetall(keys.API_KEYS)
        for digest, value in found.items():
            if (key := _parse(value)).id == key_id:
                return await self._change(digest.decode(), _changed(key, limits))
        return None

    async def _change(self, digest: str, key: ApiKey) -> ApiKey | None:
        """Store the key, unless it was revoked meanwhile."""
        limit = key.gpu_seconds_per_hour
        description = orjson.dumps(asdict(key)).decode()
        update = scripts.load(self._redis, "update_key")
        gpu_limit = "" if limit is None else repr(limit)
        is_there = await update(args=[digest, description, key.id, gpu_limit])
        return key if is_there else None

    async def _store(self, key: ApiKey, digest: str) -> None:
        description = orjson.dumps(asdict(key)).decode()
        limit = key.gpu_seconds_per_hour
        await EssentialWrites(self._redis).write(
            ("HSET", keys.API_KEYS, digest, description),
            ("HDEL", keys.GPU_LIMITS, key.id)
            if limit is None
            else ("HSET", keys.GPU_LIMITS, key.id, repr(limit)),
            ("PUBLISH", keys.API_KEYS_CHANGED, ""),
        )

    async def find(self, secret: str) -> ApiKey | None:
        """Return the key that `secret` opens, None for a wrong, revoked or expired one."""
        value: Any = await self._redis.hget(keys.API_KEYS, _digest(secret))
        key = None if value is None else _parse(value)
        return None if key is None or key.is_expired() else key

    async def revoke(self, key_id: str) -> bool:
        """Make the secret of a key worthless from now on; False when there is no such key."""
        found: Any = await self._redis.hgetall(keys.API_KEYS)
        digests = [digest for digest, value in found.items() if _parse(value).id == key_id]
        if not digests or not await self._redis.hdel(keys.API_KEYS, *digests):
            return False
        await self._redis.hdel(keys.GPU_LIMITS, key_id)
        await self._redis.publish(keys.API_KEYS_CHANGED, b"")
        return True

    async def list(self) -> list[ApiKey]:
        """Return all keys by name."""
        found: Any = await self._redis.hgetall(keys.API_KEYS)
        return sorted(map(_parse, found.values()), key=lambda key: (key.name, key.id))

    async def any(self) -> bool:
        """Return whether there is any key at all."""
        return bool(await self._redis.hlen(keys.API_KEYS))

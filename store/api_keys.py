"""API keys. Only digests are stored: a secret has 256 random bits, so a plain hash is enough.

Services of earlier versions refuse to start when a key has members that they do not know, and they
know nothing of keys that expire. So the dates of a key are stored apart from it, and a key that
expires is in a field that no secret leads an earlier service to.
"""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Final

import orjson
from redis.asyncio import Redis

from store import keys, scripts
from store.connection import EssentialWrites
from store.stored import read_stored

SECRET_PREFIX: Final = "tritond_"  # noqa: S105  (makes leaked secrets easy to find)
_EXPIRING: Final = "expiring:"
"""The first part of the fields of keys that expire."""
_LONG_AGO: Final = "1970-01-01T00:00:00+00:00"


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


@dataclass(frozen=True, slots=True)
class KeyDates:
    """When a key was created and when it expires; see `ApiKey`."""

    created_at: str | None = None
    expires_at: str | None = None


def _parse(field: bytes, value: bytes, dates: bytes | None) -> ApiKey:
    key = read_stored(ApiKey, value)
    if dates is not None:
        key = replace(key, **asdict(read_stored(KeyDates, dates)))
    if field.startswith(_EXPIRING.encode()) and key.expires_at is None:
        return replace(key, expires_at=_LONG_AGO)  # its dates are lost: better no key than for ever
    return key


def _changed(key: ApiKey, limits: Mapping[str, Any]) -> ApiKey:
    return replace(key, **limits)


def _written(key: ApiKey) -> tuple[str, str]:
    """Return a key as earlier versions read it, and its dates."""
    members = asdict(key)
    dates = {item.name: members.pop(item.name) for item in fields(KeyDates)}
    return orjson.dumps(members).decode(), orjson.dumps(dates).decode()


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
        """Make a key and return it with its secret, which cannot be retrieved later."""
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
        for field, key in (await self._all()).items():
            if key.id == key_id:
                return await self._change(field, _changed(key, limits))
        return None

    async def _change(self, field: str, key: ApiKey) -> ApiKey | None:
        """Store the key, unless it was revoked meanwhile."""
        limit = key.gpu_seconds_per_hour
        description, dates = _written(key)
        update = scripts.load(self._redis, "update_key")
        gpu_limit = "" if limit is None else repr(limit)
        is_there = await update(args=[field, description, key.id, gpu_limit, dates])
        return key if is_there else None

    async def _store(self, key: ApiKey, digest: str) -> None:
        description, dates = _written(key)
        limit = key.gpu_seconds_per_hour
        field = digest if key.expires_at is None else _EXPIRING + digest
        await EssentialWrites(self._redis).write(
            ("HSET", keys.API_KEY_DATES, field, dates),
            ("HSET", keys.API_KEYS, field, description),
            ("HDEL", keys.GPU_LIMITS, key.id)
            if limit is None
            else ("HSET", keys.GPU_LIMITS, key.id, repr(limit)),
            ("PUBLISH", keys.API_KEYS_CHANGED, ""),
        )

    async def find(self, secret: str) -> ApiKey | None:
        """Return the key that `secret` opens, None for a wrong, revoked or expired one."""
        digest = _digest(secret)
        names = [digest, _EXPIRING + digest]
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.hmget(keys.API_KEYS, names)
        pipeline.hmget(keys.API_KEY_DATES, names)
        answers: Any = await pipeline.execute()
        for name, value, dates in zip(names, *answers, strict=True):
            if value is not None:
                key = _parse(name.encode(), value, dates)
                return None if key.is_expired() else key
        return None

    async def revoke(self, key_id: str) -> bool:
        """Make the secret of a key worthless from now on; False when there is no such key."""
        names = [field for field, key in (await self._all()).items() if key.id == key_id]
        if not names or not await self._redis.hdel(keys.API_KEYS, *names):
            return False
        await self._redis.hdel(keys.API_KEY_DATES, *names)
        await self._redis.hdel(keys.GPU_LIMITS, key_id)
        await self._redis.publish(keys.API_KEYS_CHANGED, b"")
        return True

    async def list(self) -> list[ApiKey]:
        """Return all keys by name."""
        return sorted((await self._all()).values(), key=lambda key: (key.name, key.id))

    async def _all(self) -> dict[str, ApiKey]:
        """Return all keys by the fields that they are stored in."""
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.hgetall(keys.API_KEYS)
        pipeline.hgetall(keys.API_KEY_DATES)
        fields, dates = await pipeline.execute()
        return {
            field.decode(): _parse(field, value, dates.get(field))
            for field, value in fields.items()
        }

    async def any(self) -> bool:
        """Return whether there is any key at all."""
        return bool(await self._redis.hlen(keys.API_KEYS))

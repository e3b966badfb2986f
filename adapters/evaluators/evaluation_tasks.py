"""Maps tasks of other evaluators' clients to programs, by the client's own task name.

What is stored is the adapters' JSON; it is not looked at here. A task is shown to its caller only.
"""

import hashlib
import hmac
import secrets
from typing import Any, Final

from redis.asyncio import Redis

from store import keys
from store.kept_bytes import KeptBytes
from store.launches import LIFE_S

MAX_BYTES: Final = 256 << 10
"""Limit of one task; it counts for what is kept for its caller."""

_SECRET_BYTES: Final = 32


class Evaluations:
    """The tasks of all callers."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._kept = KeptBytes(redis)

    async def keep(self, caller: str, kind: str, task_id: str, data: bytes) -> None:
        """Store a task for as long as its programs are kept; an earlier one of the name goes.

        Raises ValueError for more than `MAX_BYTES`, CallerBytesFull and StoreUnavailable.
        """
        if len(data) > MAX_BYTES:
            message = f"a task of {len(data)} bytes; there is room for {MAX_BYTES}"
            raise ValueError(message)
        name = _name(caller, kind, task_id)
        known: Any = await self._redis.strlen(name)
        await self._kept.take(caller, "evaluations", max(0, len(data) - known))
        await self._redis.set(name, data, ex=LIFE_S)

    async def seed(self, *parts: str) -> int:
        """Return 63 bits derived from `parts` that cannot be predicted outside the store.

        Raises StoreUnavailable.
        """
        drawn = secrets.token_bytes(_SECRET_BYTES)
        await self._redis.set(keys.EVALUATION_SEEDS, drawn, nx=True)
        secret: Any = await self._redis.get(keys.EVALUATION_SEEDS)
        made = hmac.digest(bytes(secret), "\0".join(parts).encode(), "sha256")
        return int.from_bytes(made[:8], "big") >> 1

    async def find(self, caller: str, kind: str, task_id: str) -> bytes | None:
        """Return the task, None when there is none or it belongs to another caller.

        Raises StoreUnavailable.
        """
        stored: Any = await self._redis.get(_name(caller, kind, task_id))
        return None if stored is None else bytes(stored)


def _name(caller: str, kind: str, task_id: str) -> str:
    return f"{keys.EVALUATION}{caller}:{kind}:{hashlib.sha256(task_id.encode()).hexdigest()}"

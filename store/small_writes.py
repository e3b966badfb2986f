"""Counts of the whole deployment, which no process could keep alone.

Small writes that a full server must take, too, so that who works or operates is known to it.
"""

from collections.abc import Sequence

import orjson
from redis.asyncio import Redis

from store import keys, scripts


class Notes:
    """Writes several commands at once, whatever memory is left."""

    def __init__(self, redis: Redis) -> None:
        self._note = scripts.load(redis, "note")

    async def write(self, *commands: Sequence[str]) -> None:
        """Run all of `commands`, each a list of words, in one step."""
        await self._note(args=[orjson.dumps(commands)])


OVERRULED = "slices_overruled"
"""Kernels that the whole text of a source made otherwise than its slice."""


class Counters:
    """Named counters that only grow."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._notes = Notes(redis)

    async def add(self, name: str) -> None:
        """Count one more. Raises StoreUnavailable."""
        await self._notes.write(("HINCRBY", keys.COUNTERS, name, "1"))

    async def read(self, name: str) -> int:
        """Return how many were counted. Raises StoreUnavailable."""
        return int(await self._redis.hget(keys.COUNTERS, name) or 0)

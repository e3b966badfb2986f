"""The quota of kept bytes, for what no job keeps: those count in the scripts that end them."""

from redis.asyncio import Redis

from store import scripts
from store.errors import CallerBytesFull
from store.launches import LIFE_S


class KeptBytes:
    """The bytes that the store keeps for each caller."""

    def __init__(self, redis: Redis) -> None:
        self._take = scripts.load(redis, "take_kept_bytes", shared="lane")

    async def take(self, caller: str, what: str, size_bytes: int, life_s: int = LIFE_S) -> None:
        """Count bytes that are about to be kept. Raises CallerBytesFull, and counts none then."""
        is_taken, *limit = await self._take(args=[caller, size_bytes, life_s * 1000])
        if not is_taken:
            raise CallerBytesFull(what, int(limit[0]))

"""Small writes that a full server must take, too, so that who works or operates is known to it."""

from collections.abc import Sequence

import orjson
from redis.asyncio import Redis

from store import scripts


class Notes:
    """Writes several commands at once, whatever memory is left."""

    def __init__(self, redis: Redis) -> None:
        self._note = scripts.load(redis, "note")

    async def write(self, *commands: Sequence[str]) -> None:
        """Run all of `commands`, each a list of words, in one step."""
        await self._note(args=[orjson.dumps(commands)])

"""Whether a server takes commands: those that write, as that of jobs must, or those that read."""

import asyncio
from typing import Final

from redis.asyncio import Redis

from store import keys
from store.errors import StoreUnavailable

PROBE_LIFE_S: Final = 10


async def probe(redis: Redis, within_s: float, *, writes: bool) -> None:
    """Return when the server has done a small command.

    Raises StoreUnavailable when it is away, refuses, or does not answer in time. A server that is
    full or cannot write to its disk refuses what writes.
    """
    try:
        async with asyncio.timeout(within_s):
            if writes:
                await redis.set(keys.PROBE, 1, ex=PROBE_LIFE_S)
            else:
                await redis.exists(keys.PROBE)
    except TimeoutError as error:
        raise StoreUnavailable(f"The store did not answer within {within_s:g} s.") from error

"""Requests a second of a caller with a limit, counted in the store for all services together."""

import asyncio
import math
from typing import Any, Final

from cachetools import TTLCache
from redis.asyncio import Redis

from service.http.problems import ProblemRaised
from service.http.rate_limit import rate_limit_headers
from store import scripts

HOLD_S: Final = 1.0
MAX_CALLERS: Final = 10_000


class RequestRate:
    """Counts the requests of limited callers; a burst of one second's worth is allowed.

    A caller that was refused as often within a second, and asks again, waits for `HOLD_S` first. So
    one that repeats what was refused, as fast as it is answered, takes no time from the others.
    """

    def __init__(self, redis: Redis) -> None:
        self._take = scripts.load(redis, "take_request")
        self._refusals: TTLCache[str, int] = TTLCache(MAX_CALLERS, ttl=HOLD_S)

    async def take(self, caller: str, requests_per_s: float) -> dict[str, str]:
        """Count one request and return the headers of its answer.

        Raises ProblemRaised (429) beyond the limit, StoreUnavailable.
        """
        burst = max(1, math.ceil(requests_per_s))
        every_us = math.ceil(1e6 / requests_per_s)
        if self._refusals.get(caller, 0) >= burst:
            await asyncio.sleep(HOLD_S)
        answer: Any = await self._take(args=[caller, every_us, burst])
        is_allowed, left, wait_ms = answer
        wait_s = max(1, math.ceil(wait_ms / 1000))
        headers = rate_limit_headers("requests", requests_per_s, 1, left=left, more_in_s=wait_s)
        if not is_allowed:
            self._refusals[caller] = self._refusals.get(caller, 0) + 1
            detail = f"Your API key allows {requests_per_s:g} requests a second"
            headers["Retry-After"] = str(wait_s)
            raise ProblemRaised("too_many_requests", detail, headers=headers, limit=requests_per_s)
        return headers

"""Requests a second of a caller with a limit, counted in the store for all services together."""

import math
from typing import Any

from redis.asyncio import Redis

from service.http.problems import ProblemRaised
from service.http.rate_limit import rate_limit_headers
from store import scripts


class RequestRate:
    """Counts the requests of limited callers; a burst of one second's worth is allowed."""

    def __init__(self, redis: Redis) -> None:
        self._take = scripts.load(redis, "take_request")

    async def take(self, caller: str, requests_per_s: float) -> dict[str, str]:
        """Count one request and return the headers of its answer.

        Raises ProblemRaised (429) beyond the limit, StoreUnavailable.
        """
        burst = max(1, math.ceil(requests_per_s))
        every_us = math.ceil(1e6 / requests_per_s)
        answer: Any = await self._take(args=[caller, every_us, burst])
        is_allowed, left, wait_ms = answer
        wait_s = max(1, math.ceil(wait_ms / 1000))
        headers = rate_limit_headers("requests", requests_per_s, 1, left=left, more_in_s=wait_s)
        if not is_allowed:
            detail = f"Your API key allows {requests_per_s:g} requests a second"
            headers["Retry-After"] = str(wait_s)
            raise ProblemRaised("too_many_requests", detail, headers=headers, limit=requests_per_s)
        return headers

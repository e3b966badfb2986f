"""Requests a second of a caller with a limit, counted in the store for all services together."""

import math
from typing import Any

from redis.asyncio import Redis

from service.http.problems import ProblemRaised, rate_limit_headers
from store import scripts


class RequestRate:
    """Counts the requests of limited callers; a burst of one second's worth is allowed."""

    def __init__(self, redis: Redis) -> None:
        self._take = scripts.load(redis, "take_request")

    async def take(self, caller: str, requests_per_s: float) -> None:
        """Count one request. Raises ProblemRaised (429) beyond the limit, StoreUnavailable."""
        burst = max(1, math.ceil(requests_per_s))
        every_us = math.ceil(1e6 / requests_per_s)
        answer: Any = await self._take(args=[caller, every_us, burst])
        is_allowed, _, wait_ms = answer
        if not is_allowed:
            wait_s = max(1, math.ceil(wait_ms / 1000))
            window_s = max(1, math.ceil(burst * every_us / 1e6))
            detail = f"Your API key allows {requests_per_s:g} requests a second"
            raise ProblemRaised(
                "too_many_requests",
                detail,
                headers=rate_limit_headers("requests", burst, window_s, wait_s),
                limit=requests_per_s,
            )

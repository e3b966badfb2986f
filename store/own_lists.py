"""Lists of the jobs and batches of each caller: their ids by collection, newest first.

A script that creates a job lists it in the same step (`scripts/lane.lua`). What a process answers
from its cache is noted in memory and listed every few seconds, so that a hit costs no round trip.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline

from store import keys, scripts
from store.launches import LIFE_S

MAX_LISTED: Final = 1_000
"""The newest jobs of a collection that are listed for a caller."""
NOTED_AT_ONCE: Final = 2_000
LISTED_AT_ONCE: Final = 200


class Listing(NamedTuple):
    """The list that a job of a caller is in, such as `launches`, and for how long at most.

    A tuple, because each hit hashes one.
    """

    collection: str
    life_s: int = LIFE_S


@dataclass(frozen=True, slots=True)
class Listed:
    """A job in a list, and when it was listed, in ms since 1970 by the server's clock."""

    id: str
    at_ms: int


class OwnLists:
    """The lists of all callers."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._list = scripts.load(redis, "list_jobs", shared="lane")
        self._noted: dict[tuple[Listing, str, str], None] = {}

    async def add(self, pipeline: Pipeline, listing: Listing, caller: str, job_id: str) -> None:
        """Have `pipeline` list a job, in addition to its other commands."""
        await self._list(args=_arguments(listing, caller, [job_id]), client=pipeline)

    def note(self, listing: Listing, caller: str, job_id: str) -> None:
        """Note a job that was answered from a cache; see `flush`."""
        if len(self._noted) < NOTED_AT_ONCE:  # beyond that some are listed when asked for again
            self._noted[listing, caller, job_id] = None

    async def flush(self) -> None:
        """List the noted jobs; call it every few seconds, and before a list is read."""
        noted, self._noted = self._noted, {}
        by_list: dict[tuple[Listing, str], list[str]] = {}
        for listing, caller, job_id in noted:
            by_list.setdefault((listing, caller), []).append(job_id)
        for (listing, caller), ids in by_list.items():
            for start in range(0, len(ids), LISTED_AT_ONCE):
                some = ids[start : start + LISTED_AT_ONCE]
                await self._list(args=_arguments(listing, caller, some))

    async def page(
        self, collection: str, caller: str, after: Listed | None, count: int
    ) -> list[Listed]:
        """Return the next `count` jobs of a list, the newest first; fewer at its end."""
        name, newest = _name(collection, caller), "+inf" if after is None else after.at_ms
        page: list[Listed] = []
        start = 0
        while len(page) < count:
            members: Any = await self._redis.zrevrangebyscore(
                name, newest, "-inf", start=start, num=count, withscores=True
            )
            listed = [Listed(member.decode(), int(score)) for member, score in members]
            page += [
                job
                for job in listed
                if after is None or (job.at_ms, job.id) < (after.at_ms, after.id)
            ]
            start += count
            if len(members) < count:
                break
        return page[:count]

    async def remove(self, collection: str, caller: str, ids: Sequence[str]) -> None:
        """Take jobs from a list whose records are gone."""
        if ids:
            await self._redis.zrem(_name(collection, caller), *ids)


def _arguments(listing: Listing, caller: str, ids: Sequence[str]) -> list[str | int]:
    return [listing.collection, caller, listing.life_s * 1000, MAX_LISTED, *ids]


def _name(collection: str, caller: str) -> str:
    return f"{keys.LISTED}{collection}:{caller}"

"""Data of sweeps beside their jobs: owners, rows, and the jobs that rows wait for.

A sweep is shown to its caller only. Only the attempt that counts writes; what a row says is not
known here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from redis.asyncio import Redis

from store import keys, scripts
from store.launches import LIFE_S

ROWS_AT_ONCE: Final = 500
GONE_AFTER_MS: Final = 60_000
"""A sweep that has no job so long after it was noted counts as gone."""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The rows (JSON) that are written, by index, and the ids of the jobs that others wait for."""

    written: Mapping[int, bytes]
    waiting: Mapping[int, str]


class Sweeps:
    """The sweeps of all callers, each kept for `LIFE_S`."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._begin = scripts.load(redis, "begin_sweep", shared="lane")
        self._write = scripts.load(redis, "write_rows", shared="lane")
        self._note = scripts.load(redis, "note_sweep_jobs", shared="lane")

    async def begin(self, sweep_id: str, caller: str, most_living: int) -> bool:
        """Note whose sweep it is, before its job; False when `most_living` of its caller live."""
        args: list[str | int] = [sweep_id, caller, LIFE_S * 1000, most_living, GONE_AFTER_MS]
        return bool(await self._begin(args=args))

    async def forget(self, sweep_id: str, caller: str) -> None:
        """Forget a sweep whose job was refused."""
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.delete(keys.SWEEP + sweep_id)
        pipeline.zrem(keys.LIVING_SWEEPS + caller, sweep_id)
        await pipeline.execute()

    async def is_of(self, sweep_id: str, caller: str) -> bool:
        """Return True if the sweep exists and belongs to this caller."""
        owner: Any = await self._redis.hget(keys.SWEEP + sweep_id, "caller")
        return owner is not None and owner.decode() == caller

    async def write_rows(self, sweep_id: str, token: int, rows: Mapping[int, bytes]) -> bool:
        """Write rows, each with an event; False: the attempt with `token` does not count."""
        listed = list(rows.items())
        for start in range(0, len(listed), ROWS_AT_ONCE):
            some = listed[start : start + ROWS_AT_ONCE]
            words: list[int | bytes] = [word for row in some for word in row]
            if not await self._write(args=[sweep_id, token, *words]):
                return False
        return True

    async def note_jobs(self, sweep_id: str, token: int, jobs: Mapping[int, str]) -> bool:
        """Note which job each row is going to wait for; False as `write_rows`."""
        words: list[str | int] = [word for job in jobs.items() for word in job]
        return bool(await self._note(args=[sweep_id, token, *words]))

    async def rows(self, sweep_id: str) -> StoredRows:
        """Return what is written."""
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.hgetall(keys.SWEEP_ROWS + sweep_id)
        pipeline.hgetall(keys.SWEEP_JOBS + sweep_id)
        written, waiting = await pipeline.execute()
        return StoredRows(
            {int(index): row for index, row in written.items()},
            {int(index): job.decode() for index, job in waiting.items()},
        )

    async def rows_over(self, sweep_ids: Sequence[str]) -> list[int]:
        """Return how many rows of each sweep are over, in one round trip."""
        pipeline = self._redis.pipeline(transaction=False)
        for sweep_id in sweep_ids:
            pipeline.hlen(keys.SWEEP_ROWS + sweep_id)
        return [int(count) for count in await pipeline.execute()]

    async def written(self, sweep_id: str) -> frozenset[int]:
        """Return the indices of the rows that are written."""
        found: Any = await self._redis.hkeys(keys.SWEEP_ROWS + sweep_id)
        return frozenset(map(int, found))

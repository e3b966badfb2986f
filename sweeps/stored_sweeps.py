"""Data of sweeps, stored with their jobs: owners, rows, and the jobs that rows wait for.

A sweep is shown to its caller only. Only the attempt that counts writes; of a row only its state is
known here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from redis.asyncio import Redis

from store import keys, scripts
from store.errors import CallerBytesFull
from store.launches import LIFE_S

ROWS_AT_ONCE: Final = 500
_ROWS: Final = b"rows:"
"""The prefix of the fields of a sweep that count its rows by state; see `write_rows.lua`."""
GONE_AFTER_MS: Final = 60_000
"""A sweep that has no job so long after it was noted counts as gone."""


class WrittenRow(NamedTuple):
    """A row to write, as JSON."""

    row_index: int
    state: str
    row: bytes


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

    async def write_rows(self, sweep_id: str, token: int, rows: Sequence[WrittenRow]) -> bool:
        """Write rows, each with an event; False: the attempt with `token` does not count.

        Raises CallerBytesFull where its caller has no room for them.
        """
        for start in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[start : start + ROWS_AT_ONCE]
            words: list[int | str | bytes] = [word for row in some for word in row]
            written, *limit = await self._write(args=[sweep_id, token, *words])
            if written == b"caller_bytes_full":
                raise CallerBytesFull("sweeps", int(limit[0]))
            if written != b"written":
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

    async def rows_over(self, sweep_ids: Sequence[str]) -> list[dict[str, int]]:
        """Return how many rows of each sweep are over, in all and by state, in one round trip."""
        pipeline = self._redis.pipeline(transaction=False)
        for sweep_id in sweep_ids:
            pipeline.hlen(keys.SWEEP_ROWS + sweep_id)
            pipeline.hgetall(keys.SWEEP + sweep_id)
        replies = await pipeline.execute()
        return [
            {"over": over, **_by_state(sweep)}
            for over, sweep in zip(replies[::2], replies[1::2], strict=True)
        ]

    async def written(self, sweep_id: str) -> frozenset[int]:
        """Return the indices of the rows that are written."""
        indices: Any = await self._redis.hkeys(keys.SWEEP_ROWS + sweep_id)
        return frozenset(map(int, indices))


def _by_state(sweep: Mapping[bytes, bytes]) -> dict[str, int]:
    """Return a sweep's counts of rows; none are kept by an earlier version."""
    counted = {field: int(n) for field, n in sweep.items() if field.startswith(_ROWS)}
    return {field.removeprefix(_ROWS).decode(): n for field, n in sorted(counted.items()) if n}

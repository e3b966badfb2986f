"""What happens to a job: a short stream that can be followed from any point.

`queued`, `started` and `finished` are written by the scripts of the job protocol, in the same
instant as the change itself; workers add what lies between. A stream is capped and expires: it is
never the record.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline

from store import keys, scripts

START: Final = "0-0"
FINISHED: Final = "finished"
LIFE_MS: Final = 24 * 3600 * 1000
_ID: Final = re.compile(r"\d{1,19}(-\d{1,19})?")


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `id` grows and can be given as `after`; `data` is JSON."""

    id: str
    kind: str
    data: bytes


def check_id(written: str) -> None:
    """Raise `ValueError` when `written` is not the id of an event."""
    if not _ID.fullmatch(written):
        raise ValueError(f"{written!r} is not the id of an event, such as 1763640000000-0.")


def is_later(id_: str, after: str) -> bool:
    """Return whether an event comes behind another; both are ids."""
    return _parts(id_) > _parts(after)


def _parts(id_: str) -> tuple[int, int]:
    ms, _, count = id_.partition("-")
    return int(ms), int(count or 0)


class Events:
    """The events of jobs and batches."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._append = scripts.load(redis, "append_event")

    async def append(self, job_id: str, token: int, kind: str, data: Mapping[str, Any]) -> bool:
        """Add an event of the attempt with `token`; False: that attempt does not count any more."""
        return await self.append_all(job_id, token, kind, [data])

    async def append_all(
        self, job_id: str, token: int, kind: str, data: Sequence[Mapping[str, Any]]
    ) -> bool:
        """Add several events of one kind, in order and at once; False as `append`."""
        told = [word for item in data for word in (kind, orjson.dumps(item))]
        return bool(await self._append(args=[job_id, token, LIFE_MS, *told]))

    async def read(self, job_id: str, after: str = START) -> list[Event]:
        """Return the events later than `after`; `ValueError` when that is not an event's id."""
        check_id(after)
        entries: Any = await self._redis.xrange(keys.EVENTS + job_id, min=f"({after}")
        return self.told(entries)

    def ask(self, pipeline: Pipeline, job_id: str, after: str) -> None:
        """Add to `pipeline` what reads the events later than `after`; see `told`."""
        pipeline.xrange(keys.EVENTS + job_id, min=f"({after}")

    def told(self, entries: Any) -> list[Event]:
        """Return the events of an answer to `ask`."""
        return [
            Event(entry_id.decode(), fields[b"type"].decode(), fields[b"data"])
            for entry_id, fields in entries
        ]

"""The events of jobs and batches: a short stream each, read from any point and followed.

`queued`, `started` and `finished` are written by the scripts of the job protocol, in the same
instant as the change itself; workers add what lies between. A stream is capped and expires: it is
never the record. However many follow one stream in a process, it is read once; a publication only
makes it faster, as all is read again after `SILENCE_S` and after a reconnection.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline

from store import keys, scripts
from store.errors import StoreUnavailable
from store.subscription import Subscription

START: Final = "0-0"
FINISHED: Final = "finished"
LIFE_MS: Final = 24 * 3600 * 1000
_ID: Final = re.compile(r"\d{1,19}(-\d{1,19})?")
SILENCE_S: Final = 15.0
ANSWER_S: Final = 10.0
READ_AT_ONCE: Final = 200
AWAY_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `id` grows and can be given as `after`; `data` is JSON."""

    id: str
    kind: str
    data: bytes


def check_id(id_: str) -> None:
    """Raise `ValueError` when `id_` is not the id of an event."""
    if not _ID.fullmatch(id_):
        raise ValueError(f"{id_!r} is not the id of an event, such as 1763640000000-0.")


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
        words = [word for item in data for word in (kind, orjson.dumps(item))]
        return bool(await self._append(args=[job_id, token, LIFE_MS, *words]))

    async def may_come(self, job_id: str) -> bool:
        """Return True if a job lives, or its record may still be amended."""
        return bool(await self._redis.exists(keys.JOB + job_id, keys.AMENDMENT + job_id))

    async def read(self, job_id: str, after: str = START) -> list[Event]:
        """Return the events later than `after`; `ValueError` when that is not an event's id."""
        check_id(after)
        entries: Any = await self._redis.xrange(keys.EVENTS + job_id, min=f"({after}")
        return self.parse(entries)

    def add_read(self, pipeline: Pipeline, job_id: str, after: str) -> None:
        """Add to `pipeline` what reads the events later than `after`; see `parse`."""
        pipeline.xrange(keys.EVENTS + job_id, min=f"({after}")

    def parse(self, entries: Any) -> list[Event]:
        """Return the events of an answer to `add_read`."""
        return [
            Event(entry_id.decode(), fields[b"type"].decode(), fields[b"data"])
            for entry_id, fields in entries
        ]


class EventStream:
    """The events of one job or batch, as far as they are read. `alive`: more may come."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.alive = True
        self.followers = 0
        self.is_read = False
        self._changed = asyncio.Event()

    @property
    def is_known(self) -> bool:
        """True if there is, or may be, any event."""
        return self.alive or bool(self.events)

    @property
    def changed(self) -> asyncio.Event:
        """An event that is set when more has been read; get it before checking."""
        return self._changed

    def extend(self, events: Iterable[Event] = (), *, alive: bool) -> None:
        """Add what was read, and wake the followers."""
        self.events += events
        self.alive, self.is_read = alive, True
        self.wake()

    def wake(self) -> None:
        """Let the followers look."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class EventFollowers:
    """The followers in this process. `run()` must be running for anything to be read."""

    def __init__(
        self, redis: Redis, blocking: Redis, events: Events, silence_s: float = SILENCE_S
    ) -> None:
        self._redis = redis
        self._events = events
        self._silence_s = silence_s
        self._streams: dict[str, EventStream] = {}
        self._due: set[str] = set()
        self._changed = asyncio.Event()
        self._closed = False
        self._subscription = Subscription(
            blocking, keys.HAPPENED, self._on_changed, on_connect=self._read_all
        )

    @property
    def connected(self) -> bool:
        """True if publications arrive now."""
        return self._subscription.connected

    async def run(self) -> None:
        """Read what is followed until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._subscription.run())
            tasks.create_task(self._read())

    def close(self) -> None:
        """End every stream behind what it has yielded: this process ends."""
        self._closed = True
        for stream in self._streams.values():
            stream.wake()

    async def read_once(self, id_: str) -> EventStream:
        """Return what is known of a job or batch. Raises StoreUnavailable."""
        stream = self._stream(id_)
        try:
            async with asyncio.timeout(ANSWER_S):
                while not stream.is_read:
                    await stream.changed.wait()
        except TimeoutError as error:
            raise StoreUnavailable(f"No events were read within {ANSWER_S:g} s.") from error
        return stream

    async def follow(self, id_: str, after: str = START) -> AsyncIterator[Event | None]:
        """Yield the events of a job or batch later than `after`, and end behind the last one.

        That is `finished`, or what a worker still found out after the end (`store.launches`).

        None means a silence of `silence_s`. It ends too when the job is over and there is
        no event more, and when this is closed.
        """
        stream = self._stream(id_)
        stream.followers += 1
        yielded = 0
        try:
            while True:
                changed = stream.changed
                while yielded < len(stream.events):
                    event = stream.events[yielded]
                    yielded += 1
                    if is_later(event.id, after):
                        yield event
                if self._closed or not stream.alive:
                    return
                if not await _is_set_within(changed, self._silence_s):
                    yield None
        finally:
            stream.followers -= 1
            self._drop_unfollowed(id_, stream)

    def _stream(self, id_: str) -> EventStream:
        stream = self._streams.get(id_)
        if stream is None:
            stream = self._streams[id_] = EventStream()
            self._schedule_read(id_)
        return stream

    def _drop_unfollowed(self, id_: str, stream: EventStream) -> None:
        if not stream.followers and self._streams.get(id_) is stream:
            del self._streams[id_]

    def _on_changed(self, message: bytes) -> None:
        id_ = message.decode()
        if id_ in self._streams:
            self._schedule_read(id_)

    def _schedule_read(self, *ids: str) -> None:
        self._due.update(ids)
        self._changed.set()

    def _read_all(self) -> None:
        self._schedule_read(*self._streams)

    async def _read(self) -> None:
        while True:
            if not await _is_set_within(self._changed, self._silence_s):
                for id_, stream in list(self._streams.items()):
                    self._drop_unfollowed(id_, stream)
                self._read_all()
            self._changed.clear()
            due = sorted(self._due & self._streams.keys())
            self._due.clear()
            try:
                for start in range(0, len(due), READ_AT_ONCE):
                    await self._read_some(due[start : start + READ_AT_ONCE])
            except StoreUnavailable:
                self._schedule_read(*due)  # followers stay, and get them later
                await asyncio.sleep(AWAY_S)

    async def _read_some(self, ids: list[str]) -> None:
        streams = {id_: self._streams[id_] for id_ in ids if id_ in self._streams}
        pipeline = self._redis.pipeline(transaction=False)
        for id_, stream in streams.items():
            # ask first whether it lives: a job that ends in between has all its events by then
            pipeline.exists(keys.JOB + id_, keys.AMENDMENT + id_)
            pipeline.hget(keys.BATCH + id_, "left")
            self._events.add_read(pipeline, id_, stream.events[-1].id if stream.events else START)
        replies: list[Any] = await pipeline.execute()
        for n, (id_, stream) in enumerate(streams.items()):
            lives, left, entries = replies[3 * n : 3 * n + 3]
            alive = bool(lives) or int(left or 0) > 0
            stream.extend(self._events.parse(entries), alive=alive)
            if not alive and self._streams.get(id_) is stream:
                del self._streams[id_]  # its followers have the event; later ones open a new stream


async def _is_set_within(changed: asyncio.Event, timeout_s: float) -> bool:
    try:
        async with asyncio.timeout(timeout_s):
            await changed.wait()
    except TimeoutError:
        return False
    return True

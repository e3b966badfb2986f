"""Batches: which jobs were asked for together, by whom, and how each item ended.

The scripts of the job protocol end an item in the same instant as its job, so a batch goes
on whatever becomes of the service that took it. What the jobs are is not known here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from redis.asyncio import Redis

from store import keys, scripts
from store.kept_bytes import KeptBytes
from store.launches import LIFE_S
from store.own_lists import Listing, OwnLists
from store.stored import read_stored

ENDED_AT_ONCE: Final = 500
ITEM_BYTES: Final = 200
"""The state of an item that is over, and its event."""
LISTING: Final = Listing("batches")
ITEM_ENDS: Final = ("succeeded", "completed", "failed", "cancelled", "refused")


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """An item before its job: the id of that, None when it was refused; stages to include."""

    id: str | None
    include: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EndedItems:
    """Ended items: their indices, their state, and the record (empty for a success)."""

    indices: Sequence[int]
    state: str
    record: bytes = b""


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """A batch as it is now; `ended` and `caches` are by index.

    It `is_submitted` once every item has a job, or has ended without one.
    """

    id: str
    kind: str
    items: Sequence[PlannedItem]
    caches: Mapping[int, str]
    ended: Mapping[int, EndedItems]
    is_submitted: bool


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """A batch in numbers: of its items that are over by state, and of the others."""

    kind: str
    ended: Mapping[str, int]
    left: int


class Batches:
    """The batches of all callers, each kept for `LIFE_S`."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._kept = KeptBytes(redis)
        self._lists = OwnLists(redis)
        self._end_items = scripts.load(redis, "end_items", shared="lane")
        self._withdraw = scripts.load(redis, "withdraw_batch", shared="lane")

    async def create(
        self, batch_id: str, caller: str, kind: str, items: Sequence[PlannedItem]
    ) -> None:
        """Note what belongs together, before any of its jobs is submitted.

        Noting it again, where the first attempt was cut short, ends no item twice. Raises
        CallerBytesFull.
        """
        plan = orjson.dumps([[item.id, item.include] for item in items])
        await self._kept.take(caller, "batches", len(plan) + ITEM_BYTES * len(items))
        fields: dict[Any, Any] = {"caller": caller, "kind": kind, "plan": plan}
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.hset(keys.BATCH + batch_id, mapping=fields)
        pipeline.hsetnx(keys.BATCH + batch_id, "left", len(items))
        pipeline.expire(keys.BATCH + batch_id, LIFE_S)
        await self._lists.add(pipeline, LISTING, caller, batch_id)
        await pipeline.execute()

    async def note_caches(self, batch_id: str, caches: Mapping[int, str]) -> None:
        """Note by index what the cache did for the items that have an id."""
        by_index = orjson.dumps({str(index): cache for index, cache in caches.items()})
        await self._redis.hset(keys.BATCH + batch_id, "caches", by_index)

    async def end_items(self, batch_id: str, ended: Sequence[EndedItems]) -> None:
        """End items that no job will; an item that is over stays as it is."""
        for start in range(0, len(ended), ENDED_AT_ONCE):
            arguments: list[Any] = [batch_id]
            for item in ended[start : start + ENDED_AT_ONCE]:
                arguments += [" ".join(map(str, item.indices)), item.state, item.record]
            await self._end_items(args=arguments)

    async def withdraw(self, batch_id: str, job_id: str, record: bytes) -> bool:
        """End the items of a job with the `record` of a cancelled one, without waiting for it.

        Return whether the batch waited for the job; its interest is still to be withdrawn.
        """
        return bool(await self._withdraw(args=[job_id, batch_id, record]))

    async def summaries(self, batch_ids: Sequence[str]) -> list[BatchSummary | None]:
        """Return each of the batches in numbers, None where it is gone, in one round trip."""
        pipeline = self._redis.pipeline(transaction=False)
        for batch_id in batch_ids:
            pipeline.hmget(
                keys.BATCH + batch_id, "kind", "left", *(f"ended:{state}" for state in ITEM_ENDS)
            )
        return [
            None
            if kind is None
            else BatchSummary(
                kind.decode(),
                {state: int(n) for state, n in zip(ITEM_ENDS, ended, strict=True) if n},
                int(left),
            )
            for kind, left, *ended in await pipeline.execute()
        ]

    async def find(self, batch_id: str, caller: str) -> StoredBatch | None:
        """Return the batch, None when there is none or it is another caller's."""
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.hmget(keys.BATCH + batch_id, "caller", "kind", "plan", "caches")
        pipeline.hgetall(keys.BATCH_ITEMS + batch_id)
        (owner, kind, plan, caches), ended = await pipeline.execute()
        if owner is None or owner.decode() != caller:
            return None
        return StoredBatch(
            id=batch_id,
            kind=kind.decode(),
            items=[_planned(item) for item in read_stored(list[list[Any]], plan)],
            caches=read_stored(dict[int, str], caches or b"{}"),
            ended={int(index): _ended(int(index), ended) for index in ended},
            is_submitted=caches is not None,
        )


def _planned(item: Sequence[Any]) -> PlannedItem:
    id_, include = item[:2]  # a later version may write more
    return PlannedItem(id_, tuple(include))


def _ended(index: int, values: Mapping[bytes, bytes]) -> EndedItems:
    """Return how an item ended; a record that several share is kept with one of them."""
    state, _, record = values[b"%d" % index].partition(b" ")
    if record.startswith(b"="):
        record = values[record[1:]].partition(b" ")[2]
    return EndedItems((index,), state.decode(), record)

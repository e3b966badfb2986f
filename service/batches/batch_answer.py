"""Renders a batch as JSON: every item, with its result when it is over.

Results come from the same place as single ones, a few dozen per round trip. The batch itself keeps
failed and cancelled records. A success whose artifacts were evicted becomes a problem of its item.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from compiler.compilation import compilation_url
from service.batches.batch import Counts, batch_url
from service.batches.batch_submission import COMPILATIONS, refusal
from service.compilations.answer import Answer, AnswerTooLarge, Cache, check_included
from service.http.answer_parts import AnswerRoom
from service.http.problems import ProblemRaised
from service.state import ServiceState
from store.batches import StoredBatch
from store.records import Hit

READ_AT_ONCE = 50
COMPILATIONS_READ_AT_ONCE = 8
"""Their sizes are known once they are read."""
LIVING = ("queued", "running")


@dataclass(slots=True)
class AnsweredItem:
    """One item of the answer; `result` and `problem` are JSON."""

    index: int
    state: str
    url: str | None = None
    status: int = 200
    result: bytes = b"null"
    problem: bytes = b"null"

    def refuse(self, error: ProblemRaised) -> None:
        """Replace the result with a problem."""
        self.status, self.result = error.status, b"null"
        self.problem = refusal(error)

    def refuse_for_size(self, limit_bytes: int) -> None:
        """Leave out the result; a problem in its place names its URL."""
        detail = (
            f"The results of this batch exceed {limit_bytes} bytes in total; "
            f"GET this one at {self.url}"
        )
        self.refuse(ProblemRaised("too_large", detail, limit=limit_bytes))

    def parts(self) -> Sequence[bytes]:
        """Return the item as JSON, in parts."""
        own = {"index": self.index, "status": self.status, "state": self.state, "url": self.url}
        head = orjson.dumps(own)[:-1] + b',"result":'
        return head, self.result, b',"problem":%b}' % self.problem


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """A batch as JSON, in parts, and `is_finished` once every item is over."""

    parts: Sequence[bytes]
    is_finished: bool


async def batch_answer(
    state: ServiceState, batch: StoredBatch, *, with_results: bool
) -> BatchAnswer:
    """Return the batch as it is now. Without results it has only states and problems."""
    items = await _items(state, batch)
    if with_results:
        await _add_results(state, batch, items)
    counts = Counter(item.state for item in items)
    is_finished = not any(counts[name] for name in LIVING)
    head = {
        "id": batch.id,
        "url": batch_url(batch.id),
        "kind": batch.kind,
        "state": "completed" if is_finished else "running",
        "counts": Counts(**counts).model_dump(),
    }
    parts = [orjson.dumps(head)[:-1] + b',"items":[']
    for item in items:
        parts += [*item.parts(), b","]
    return BatchAnswer([*parts[:-1], b"]}"], is_finished)


async def _items(state: ServiceState, batch: StoredBatch) -> list[AnsweredItem]:
    url_of = compilation_url if batch.kind == COMPILATIONS else state.owned[batch.kind].url_of
    open_ = [i for i, planned in enumerate(batch.items) if planned.id and i not in batch.ended]
    states = await state.jobs.states([batch.items[index].id or "" for index in open_])
    living = dict(zip(open_, states, strict=True))
    items = []
    for index, planned in enumerate(batch.items):
        ended = batch.ended.get(index)
        name = ended.state if ended else (living.get(index) or "refused")
        item = AnsweredItem(index, str(name), url_of(planned.id) if planned.id else None)
        if ended and ended.state == "refused":
            item.url = None
            if ended.record:
                item.problem, item.status = ended.record, orjson.loads(ended.record)["status"]
            else:
                item.refuse(_not_kept())
        elif item.state in LIVING:
            item.status = 202
        elif ended is None:
            item.refuse(_not_queued())
        items.append(item)
    return items


def _not_queued() -> ProblemRaised:
    return ProblemRaised("not_found", "This item was not queued, or was purged; post it again.")


def _not_kept() -> ProblemRaised:
    detail = "The reason for this refusal exceeds the bytes stored for you; post the item alone"
    return ProblemRaised("too_many_requests", detail)


async def _add_results(state: ServiceState, batch: StoredBatch, items: list[AnsweredItem]) -> None:
    room = AnswerRoom(state.settings.max_batch_answer_bytes)
    room.take(min(room.left_bytes, sum(len(part) for item in items for part in item.parts())))
    over = [item for item in items if item.index in batch.ended and item.state != "refused"]
    at_once = COMPILATIONS_READ_AT_ONCE if batch.kind == COMPILATIONS else READ_AT_ONCE
    for start in range(0, len(over), at_once):
        some = over[start : start + at_once]
        if batch.kind == COMPILATIONS:
            await asyncio.gather(*(_add_compilation(state, batch, item, room) for item in some))
        else:
            await _add_owned(state, batch, some, room)


async def _add_owned(
    state: ServiceState, batch: StoredBatch, items: list[AnsweredItem], room: AnswerRoom
) -> None:
    """Add the results that there is room for; their sizes are asked for first."""
    ids = [batch.items[item.index].id or "" for item in items]
    kept = [batch.ended[item.index].record for item in items]
    sizes = [len(own) or size for own, size in zip(kept, await state.jobs.sizes(ids), strict=True)]
    fits = [room.take(size) for size in sizes]
    wanted = [id_ if fit and not own else "" for id_, fit, own in zip(ids, fits, kept, strict=True)]
    results = await state.jobs.results(wanted)
    for item, own, fit, result in zip(items, kept, fits, results, strict=True):
        record = own or (result and result.record)
        if not fit:
            item.refuse_for_size(room.limit_bytes)
        elif record:
            item.result = record
        else:
            noun = state.owned[batch.kind].kind.noun
            detail = f"This {noun} has expired; post it again"
            item.refuse(ProblemRaised("evicted", detail))


async def _add_compilation(
    state: ServiceState, batch: StoredBatch, item: AnsweredItem, room: AnswerRoom
) -> None:
    planned, record = batch.items[item.index], batch.ended[item.index].record
    assert planned.id is not None
    try:
        hit = None if record else await _read(state, planned.id, planned.include, room)
    except AnswerTooLarge:
        item.refuse_for_size(room.limit_bytes)
        return
    if not record and hit is None:
        detail = f"The artifacts of {planned.id} have left the cache; post the item again"
        item.refuse(ProblemRaised("evicted", detail))
        return
    answer = Answer(
        planned.id,
        item.state,
        hit.record if hit else record,
        _cache(batch, item.index),
        included=hit.included if hit else {},
    )
    if room.take(len(answer.body)):
        item.result = answer.body
    else:
        item.refuse_for_size(room.limit_bytes)


def _cache(batch: StoredBatch, index: int) -> Cache | None:
    match batch.caches.get(index):
        case "hit" | "miss" | "join" as cache:
            return cache
    return None


async def _read(
    state: ServiceState, key: str, include: tuple[str, ...], room: AnswerRoom
) -> Hit | None:
    """Return a success from the cache, or from its job: a job ends just before the cache has it.

    Raises AnswerTooLarge before it reads a part that would exceed the limit.
    """
    hit = await state.compilations.hit(key, ())
    if hit is not None:
        if not include:
            return hit
        check_included(hit.record, include, room.left_bytes)
        return await state.compilations.hit(key, include)
    result = await state.jobs.result(key)
    if result is None:
        return None
    artifacts = check_included(result.record, include, room.left_bytes)
    included = {}
    for stage in include:
        if stage in artifacts:
            data = await state.blobs.get(artifacts[stage]["digest"])
            if data is None:
                return None
            included[stage] = data
    return Hit(key, result.record, {}, included)

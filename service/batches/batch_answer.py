"""Renders a batch as JSON: every item, with its result when it is over.

Results come from the same place as single ones, a few dozen per round trip. The batch itself keeps
failed and cancelled records. A success whose artifacts were evicted becomes a problem of its item.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass

import orjson

from compiler.compilation import compilation_url
from service.batches.batch import Counts, batch_url
from service.batches.batch_submission import COMPILATIONS, refusal
from service.compilations.answer import Answer, Cache
from service.http.problems import ProblemRaised
from service.state import ServiceState
from store.batches import StoredBatch
from store.records import Hit

READ_AT_ONCE = 50
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

    def to_json(self) -> bytes:
        """Return the item as JSON."""
        own = {"index": self.index, "status": self.status, "state": self.state, "url": self.url}
        parts = (orjson.dumps(own)[:-1], self.result, self.problem)
        return b'%b,"result":%b,"problem":%b}' % parts


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """A batch as JSON, and a flag that says if every item is over."""

    body: bytes
    is_finished: bool


async def batch_answer(
    state: ServiceState, batch: StoredBatch, *, with_results: bool
) -> BatchAnswer:
    """Return the batch as it is now. Without results it has only states and problems."""
    items = await _items(state, batch)
    if with_results:
        await _add_results(state, batch, items)
        limit_results(items, state.settings.max_batch_answer_bytes)
    counts = Counter(item.state for item in items)
    is_finished = not any(counts[name] for name in LIVING)
    head = {
        "id": batch.id,
        "url": batch_url(batch.id),
        "kind": batch.kind,
        "state": "completed" if is_finished else "running",
        "counts": Counts(**counts).model_dump(),
    }
    listed = b",".join(item.to_json() for item in items)
    return BatchAnswer(orjson.dumps(head)[:-1] + b',"items":[' + listed + b"]}", is_finished)


async def _items(state: ServiceState, batch: StoredBatch) -> list[AnsweredItem]:
    url_of = compilation_url if batch.kind == COMPILATIONS else state.owned[batch.kind].url_of
    open_ = [i for i, planned in enumerate(batch.items) if planned.id and i not in batch.ended]
    found = await state.jobs.states([batch.items[index].id or "" for index in open_])
    living = dict(zip(open_, found, strict=True))
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
    detail = "The reason of this refusal did not fit into what is kept for you; post the item alone"
    return ProblemRaised("too_many_requests", detail)


async def _add_results(state: ServiceState, batch: StoredBatch, items: list[AnsweredItem]) -> None:
    over = [item for item in items if item.index in batch.ended and item.state != "refused"]
    for start in range(0, len(over), READ_AT_ONCE):
        some = over[start : start + READ_AT_ONCE]
        if batch.kind == COMPILATIONS:
            await asyncio.gather(*(_add_compilation(state, batch, item) for item in some))
        else:
            await _add_owned(state, batch, some)


async def _add_owned(state: ServiceState, batch: StoredBatch, items: list[AnsweredItem]) -> None:
    results = await state.jobs.results([batch.items[item.index].id or "" for item in items])
    for item, result in zip(items, results, strict=True):
        record = batch.ended[item.index].record or (result and result.record)
        if record:
            item.result = record
        else:
            noun = state.owned[batch.kind].kind.noun
            detail = f"This {noun} has expired; post it again"
            item.refuse(ProblemRaised("evicted", detail))


async def _add_compilation(state: ServiceState, batch: StoredBatch, item: AnsweredItem) -> None:
    planned, record = batch.items[item.index], batch.ended[item.index].record
    assert planned.id is not None
    hit = None if record else await _read(state, planned.id, planned.include)
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
    item.result = answer.body


def _cache(batch: StoredBatch, index: int) -> Cache | None:
    match batch.caches.get(index):
        case "hit" | "miss" | "join" as cache:
            return cache
    return None


async def _read(state: ServiceState, key: str, include: tuple[str, ...]) -> Hit | None:
    """Return a success from the cache, or from its job: a job ends just before the cache has it."""
    hit = await state.compilations.hit(key, include)
    if hit is not None:
        return hit
    result = await state.jobs.result(key)
    if result is None:
        return None
    artifacts = orjson.loads(result.record)["artifacts"]
    included = {}
    for stage in include:
        if stage in artifacts:
            data = await state.blobs.get(artifacts[stage]["digest"])
            if data is None:
                return None
            included[stage] = data
    return Hit(key, result.record, {}, included)


def limit_results(items: list[AnsweredItem], limit_bytes: int) -> None:
    """Drop results beyond `limit_bytes`; a problem in their place names their URL."""
    size_bytes = 0
    for item in items:
        size_bytes += len(item.result)
        if size_bytes > limit_bytes and item.result != b"null":
            detail = (
                f"The results of this batch exceed {limit_bytes} bytes in total; "
                f"GET this one at {item.url}"
            )
            item.refuse(ProblemRaised("too_large", detail, limit=limit_bytes))

"""From the body of a batch to its jobs: each item is taken, or refused with a problem of its own.

Equal compilations are one job. Items that name no priority go behind everybody's interactive work.

Cancelling a batch: whatever of it is not over ends, unless others wait for it too.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import orjson
from pydantic import BaseModel

from compiler import limits
from compiler.job import CompileJob
from compiler.rejection import RequestRejected
from compiler.request import CompileRequest
from compiler.resolution import resolve
from launch.request.launch_request import MAX_DEADLINE_S, LaunchRequest
from service.batches.batch import BatchRequest
from service.caller import Caller
from service.compilations.retrieval import cancelled_record
from service.compilations.submission import enqueue
from service.http.body import parse_value
from service.http.problems import RETRY_AFTER_S, ProblemRaised, as_raised, problem_of
from service.launches.launch_submission import cancel_launch, submit_launch
from service.state import ServiceState
from store.batches import EndedItems, PlannedItem, StoredBatch
from store.errors import QueueFull, StoreUnavailable
from store.jobs.types import Membership, Priority, SubmitOutcome, interest_of_batch


async def cancel_batch(shared: ServiceState, batch: StoredBatch, caller: Caller) -> bool:
    """Cancel what is left; False when all of it was over."""
    open_ = {
        planned.id
        for index, planned in enumerate(batch.items)
        if planned.id is not None and index not in batch.ended
    }
    cancelled: list[str] = []

    async def cancel(job_id: str) -> None:
        if batch.kind == "launches":
            done = await cancel_launch(shared, caller, job_id)
        else:
            done = await _cancel_compilation(shared, batch.id, job_id)
        if done:
            cancelled.append(job_id)

    await each(sorted(open_), cancel)
    return bool(cancelled)


async def _cancel_compilation(shared: ServiceState, batch_id: str, key: str) -> bool:
    """Settle the items of `key`; its job goes on for those that still want it."""
    payload = await shared.jobs.payload(key)
    if payload is None:
        return False
    job = CompileJob.model_validate_json(payload)
    toolchain = await shared.toolchains.find(job.toolchain_id)
    record = cancelled_record(job, toolchain)
    if await shared.batches.withdraw(batch_id, key, record):
        await shared.jobs.withdraw(key, interest_of_batch(batch_id), record)
    return True


AT_ONCE = 32
READ_AT_ONCE = 16
_REFUSALS = (ProblemRaised, RequestRejected, QueueFull, StoreUnavailable)
_Request = TypeVar("_Request", CompileRequest, LaunchRequest)


@dataclass(slots=True)
class _Compile:
    """One compile job, and the items that ask for it."""

    job: CompileJob
    priority: Priority
    refresh: bool
    timeout_ms: int = 0
    indices: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Told:
    """What is known of the items at once: those that are over, and what the cache said."""

    ended: list[EndedItems] = field(default_factory=list)
    caches: dict[int, str] = field(default_factory=dict)

    def refuse(self, indices: Sequence[int], error: Exception) -> None:
        """Settle items with the problem that `error` is."""
        self.ended.append(EndedItems(indices, "refused", refusal(error)))


async def submit_batch(shared: ServiceState, request: BatchRequest, caller: Caller) -> str:
    """Submit what can be submitted and return the id of the batch. Raises StoreUnavailable."""
    batch_id = secrets.token_hex(16)
    submit = _submit_launches if request.kind == "launches" else _submit_compilations
    told = await submit(shared, batch_id, request.requests, caller)
    await shared.batches.note_caches(batch_id, told.caches)
    await shared.batches.end_items(batch_id, told.ended)
    return batch_id


def refusal(error: Exception) -> bytes:
    """Return the problem of an item as JSON, with when to try again where that helps."""
    raised = as_raised(error)
    if raised is None:
        raise error
    problem = problem_of(raised, None).model_dump()
    retry_after_s = RETRY_AFTER_S.get(raised.slug)
    problem["retryable"] = retry_after_s is not None
    if retry_after_s is not None:
        problem["retry_after_s"] = retry_after_s
    return orjson.dumps(problem)


async def _submit_compilations(
    shared: ServiceState, batch_id: str, requests: Sequence[object], caller: Caller
) -> _Told:
    told = _Told()
    plan = [PlannedItem(None)] * len(requests)
    jobs: dict[str, _Compile] = {}
    for index, written in enumerate(requests):
        if index % READ_AT_ONCE == 0:
            await asyncio.sleep(0)  # a thousand sources take a while to hash
        try:
            request = _unhurried(parse_value(written, CompileRequest))
            limits.check(request, shared.settings.request_limits)
            toolchain = await shared.toolchains.choose(request.triton)
            job = resolve(request, toolchain, caller.namespace)
        except _REFUSALS as error:
            told.refuse([index], error)
            continue
        plan[index] = PlannedItem(job.key, tuple(request.include))
        priority = Priority(request.priority)
        one = jobs.setdefault(job.key, _Compile(job, priority, refresh=False))
        one.indices.append(index)
        one.refresh |= request.refresh
        one.timeout_ms = max(one.timeout_ms, int(request.timeout_s * 1000))
        if priority is Priority.INTERACTIVE:
            one.priority = priority
    await shared.batches.create(batch_id, caller.id, "compilations", plan)
    await each(jobs.values(), lambda one: _submit_compilation(shared, batch_id, one, caller, told))
    return told


async def _submit_compilation(
    shared: ServiceState, batch_id: str, one: _Compile, caller: Caller, told: _Told
) -> None:
    try:
        cache = await _find_or_enqueue(shared, batch_id, one, caller, told)
    except _REFUSALS as error:
        told.refuse(one.indices, error)
        return
    for index in one.indices:
        is_repeated = cache == "miss" and index != one.indices[0]
        told.caches[index] = "join" if is_repeated else cache
        shared.metrics.compilations.labels(told.caches[index]).inc()


async def _find_or_enqueue(
    shared: ServiceState, batch_id: str, one: _Compile, caller: Caller, told: _Told
) -> str:
    key = one.job.key
    if not one.refresh and await shared.compilations.hit(key):
        told.ended.append(EndedItems(one.indices, "succeeded"))
        return "hit"
    submitted = await enqueue(
        shared,
        one.job,
        caller,
        priority=one.priority,
        timeout_ms=one.timeout_ms,
        refresh=one.refresh,
        membership=_membership(batch_id, one.indices),
    )
    if submitted.outcome is SubmitOutcome.HIT:
        assert submitted.record is not None
        state = orjson.loads(submitted.record)["state"]
        told.ended.append(EndedItems(one.indices, state, submitted.record))
    if one.refresh:
        shared.memory.forget(key)
    return submitted.outcome.value


async def _submit_launches(
    shared: ServiceState, batch_id: str, requests: Sequence[object], caller: Caller
) -> _Told:
    told = _Told()
    plan = [PlannedItem(secrets.token_hex(16)) for _ in requests]
    await shared.batches.create(batch_id, caller.id, "launches", plan)

    async def submit(index: int) -> None:
        try:
            request = _patient(_unhurried(parse_value(requests[index], LaunchRequest)))
            id_ = plan[index].id
            assert id_ is not None
            membership = replace(_membership(batch_id, [index]), of_batch_alone=True)
            await submit_launch(shared, request, caller, id_, membership=membership)
        except _REFUSALS as error:
            told.refuse([index], error)

    await each(range(len(requests)), submit)
    return told


_Item = TypeVar("_Item")


async def each(items: Iterable[_Item], do: Callable[[_Item], Awaitable[None]]) -> None:
    """Do it for all items, `AT_ONCE` at a time and begun in order."""
    waiting = iter(items)

    async def some() -> None:
        for item in waiting:
            await do(item)

    await asyncio.gather(*(some() for _ in range(AT_ONCE)))


def _membership(batch_id: str, indices: Sequence[int]) -> Membership:
    return Membership(batch_id, " ".join(map(str, indices)))


def _unhurried(request: _Request) -> _Request:
    return _with_default(request, "priority", "batch")


def _patient(request: LaunchRequest) -> LaunchRequest:
    """Let a launch wait for the others: its deadline counts from when it is queued."""
    return _with_default(request, "deadline_s", float(MAX_DEADLINE_S))


_Model = TypeVar("_Model", bound=BaseModel)


def _with_default(request: _Model, name: str, value: object) -> _Model:
    if name in request.model_fields_set:
        return request
    return request.model_copy(update={name: value})

"""Submits and cancels the jobs of a batch.

Each item is submitted, or refused with its own problem. Equal compilations share one job, and so do
equal programs that name no seed. Items without a priority queue behind all interactive work.
"""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from compiler.job import CompileJob
from compiler.problem_kinds import PROBLEM_KINDS
from compiler.rejection import FieldError, RequestRejected
from compiler.request import limits
from compiler.request.compile_request import CompileRequest
from compiler.request.resolution import resolve
from compiler.wanted import check_wanted
from jobs.core_kinds import COMPILATION
from jobs.kind import state_of_record
from jobs.submission import JobOrder
from launch.request.launch_request import MAX_DEADLINE_S
from service.batches.batch import BatchRequest
from service.caller import Caller
from service.compilations.retrieval import cancelled_record
from service.compilations.submission import LISTING
from service.file_digests import FileDigests, keep_texts
from service.gather_limited import gather_limited
from service.http.body import parse_value
from service.http.problems import ProblemRaised, as_raised, problem_of
from service.owned_jobs import OwnedJobs
from service.state import ServiceState
from store.batches import EndedItems, PlannedItem, StoredBatch
from store.errors import QueueFull, StoreUnavailable
from store.jobs.types import Membership, Priority, interest_of_batch
from store.stored import read_stored

COMPILATIONS = "compilations"
AT_ONCE = 32
READ_AT_ONCE = 4
MAX_ERRORS = 2_000
"""The limit for all items together: each error takes time to find and bytes to report."""
_REFUSALS = (ProblemRaised, RequestRejected, QueueFull, StoreUnavailable)


@dataclass(slots=True)
class _CompileItems:
    """One compile job, and the items that requested it."""

    job: CompileJob
    priority: Priority
    refresh: bool = False
    timeout_ms: int = 0
    indices: list[int] = field(default_factory=list)

    def add(self, index: int, request: CompileRequest) -> None:
        """Add an item. The job takes the highest priority and the longest timeout of its items."""
        self.indices.append(index)
        self.refresh |= request.refresh
        self.timeout_ms = max(self.timeout_ms, int(request.timeout_s * 1000))
        if Priority(request.priority) is Priority.INTERACTIVE:
            self.priority = Priority.INTERACTIVE


@dataclass(slots=True)
class _KnownAtOnce:
    """Items that are over before any job ends, and the cache's answer for each item."""

    ended: list[EndedItems] = field(default_factory=list)
    caches: dict[int, str] = field(default_factory=dict)
    errors: int = 0

    def check(self) -> None:
        """Raise ProblemRaised when earlier items used up the limit on reported errors."""
        if self.errors >= MAX_ERRORS:
            detail = (
                f"This item was not checked: items before it have {self.errors} errors, and a "
                f"batch reports at most {MAX_ERRORS}; fix those, then post this item again"
            )
            raise ProblemRaised("invalid_request", detail)

    def refuse(self, indices: Sequence[int], error: Exception) -> None:
        """End the items with the problem of `error`."""
        self.errors += len(indices) * len(error.errors) if isinstance(error, RequestRejected) else 0
        self.ended.append(EndedItems(indices, "refused", refusal(error)))


def check_kind(state: ServiceState, kind: str) -> str:
    """Return the scope that batches of `kind` need. Raises RequestRejected for unknown kinds."""
    if kind == COMPILATIONS:
        return "compile"
    owned = state.owned.get(kind)
    if owned is None:
        *others, last = (repr(name) for name in (COMPILATIONS, *state.owned))
        raise RequestRejected(FieldError("/kind", f"Input should be {', '.join(others)} or {last}"))
    return owned.scope


async def submit_batch(
    state: ServiceState, request: BatchRequest, caller: Caller, batch_id: str
) -> str:
    """Submit all valid items and return the id of the batch. Raises StoreUnavailable.

    Doing it again, after an attempt that was cut short, submits what that one did not.
    """
    if request.kind == COMPILATIONS:
        known = await _submit_compilations(state, batch_id, request.requests, caller)
    else:
        owned = state.owned[request.kind]
        known = await _submit_owned(state, batch_id, request.requests, caller, owned)
    await state.batches.note_caches(batch_id, known.caches)
    await state.batches.end_items(batch_id, known.ended)
    return batch_id


def refusal(error: Exception) -> bytes:
    """Return the problem of an item as JSON, with `retry_after` where a retry can help."""
    raised = as_raised(error)
    if raised is None:
        raise error
    problem = problem_of(raised, None).model_dump()
    retry_after_s = PROBLEM_KINDS[raised.slug].retry_after_s
    if retry_after_s is not None:
        problem["retry_after_s"] = retry_after_s
    return orjson.dumps(problem)


async def _submit_compilations(
    state: ServiceState, batch_id: str, requests: Sequence[object], caller: Caller
) -> _KnownAtOnce:
    known = _KnownAtOnce()
    plan = [PlannedItem(None)] * len(requests)
    by_key: dict[str, _CompileItems] = {}
    texts = FileDigests(state, caller, state.settings.max_batch_bytes)
    for index, body in enumerate(requests):
        if index % READ_AT_ONCE == 0:
            await asyncio.sleep(0)  # hashing a thousand sources must not block other requests
            check_wanted()
        try:
            known.check()
            whole = await texts.filled(_with_defaults(body, priority="batch"))
            request = parse_value(whole, CompileRequest)
            limits.check(request, state.settings.request_limits)
            toolchain = await state.toolchains.choose(request.triton)
            job = resolve(request, toolchain, caller.namespace)
            await keep_texts(state, caller, job.module, job.files)
        except _REFUSALS as error:
            known.refuse([index], error)
            continue
        plan[index] = PlannedItem(job.key, tuple(request.include))
        items = by_key.setdefault(job.key, _CompileItems(job, Priority(request.priority)))
        items.add(index, request)
    await state.batches.create(batch_id, caller.id, "compilations", plan)

    async def submit(items: _CompileItems) -> None:
        await _submit_compilation(state, batch_id, items, caller, known)

    await gather_limited(AT_ONCE, by_key.values(), submit)
    return known


async def _submit_compilation(
    state: ServiceState, batch_id: str, items: _CompileItems, caller: Caller, known: _KnownAtOnce
) -> None:
    try:
        cache = await _find_or_enqueue(state, batch_id, items, caller, known)
    except _REFUSALS as error:
        known.refuse(items.indices, error)
        return
    for index in items.indices:
        is_repeated = cache == "miss" and index != items.indices[0]
        known.caches[index] = "join" if is_repeated else cache
        state.metrics.compilations.labels(known.caches[index]).inc()


async def _find_or_enqueue(
    state: ServiceState, batch_id: str, items: _CompileItems, caller: Caller, known: _KnownAtOnce
) -> str:
    key = items.job.key
    if not items.refresh and await state.compilations.hit(key):
        known.ended.append(EndedItems(items.indices, "succeeded"))
        state.lists.note(LISTING, caller.id, key)
        return "hit"
    order = JobOrder(
        COMPILATION,
        items.job,
        caller.id,
        items.priority,
        refresh=items.refresh,
        timeout_ms=items.timeout_ms,
        membership=_membership(batch_id, items.indices),
        listing=LISTING,
    )
    submitted = await state.client.submit(order)
    if submitted.record is not None:
        ending = state_of_record(submitted.record)
        known.ended.append(EndedItems(items.indices, ending, submitted.record))
    if items.refresh:
        state.responses.forget(key)
    return submitted.outcome.value


async def _submit_owned(
    state: ServiceState,
    batch_id: str,
    requests: Sequence[object],
    caller: Caller,
    owned: OwnedJobs[Any],
) -> _KnownAtOnce:
    known = _KnownAtOnce()
    groups = [[index] for index in range(len(requests))]
    if owned.runs_equal_once:
        groups = await state.threads.run(_equal_items, requests)
    ids = {index: _item_id(batch_id, group[0]) for group in groups for index in group}
    plan = [PlannedItem(ids[index]) for index in range(len(requests))]
    await state.batches.create(batch_id, caller.id, owned.collection, plan)
    # an item waits for the others: its deadline starts when it is queued
    defaults = {"priority": "batch", "deadline_s": float(MAX_DEADLINE_S)}

    texts = FileDigests(state, caller, state.settings.max_batch_bytes)

    async def submit(indices: Sequence[int]) -> None:
        index = indices[0]
        if index % READ_AT_ONCE == 0:
            await asyncio.sleep(0)  # an item that is refused at once waits for nothing else
            check_wanted()
        try:
            known.check()
            whole = await texts.filled(_with_defaults(requests[index], **defaults))
            request = parse_value(whole, owned.request)
            membership = replace(_membership(batch_id, indices), of_batch_alone=True)
            await owned.submit(state, request, caller, ids[index], membership=membership)
        except _REFUSALS as error:
            known.refuse(indices, error)

    await gather_limited(AT_ONCE, groups, submit)
    return known


def _equal_items(requests: Sequence[object]) -> list[list[int]]:
    """Return the indices of all items, those of equal requests without a seed together."""
    groups: dict[object, list[int]] = {}
    for index, body in enumerate(requests):
        group: object = index
        if isinstance(body, dict) and body.get("seed") is None:
            group = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).digest()
        groups.setdefault(group, []).append(index)
    return list(groups.values())


def _item_id(batch_id: str, index: int) -> str:
    """Return the id of an item, which follows from its batch's: posted again, it is the same.

    Ids of batches are secret from other callers, so those of items are.
    """
    return hashlib.sha256(f"{batch_id}:{index}".encode()).hexdigest()[:32]


def _membership(batch_id: str, indices: Sequence[int]) -> Membership:
    return Membership(batch_id, " ".join(map(str, indices)))


def _with_defaults(body: object, **defaults: object) -> object:
    """Return the body with `defaults` for absent fields; only objects are changed."""
    return defaults | body if isinstance(body, dict) else body


async def cancel_batch(state: ServiceState, batch: StoredBatch, caller: Caller) -> bool:
    """Cancel all items that are not over. Returns False when every item was over."""
    open_ = {
        planned.id
        for index, planned in enumerate(batch.items)
        if planned.id is not None and index not in batch.ended
    }
    cancelled: list[str] = []

    async def cancel(job_id: str) -> None:
        if batch.kind == COMPILATIONS:
            done = await _cancel_compilation(state, batch.id, job_id)
        else:
            done = await state.owned[batch.kind].cancel(state, caller, job_id)
        if done:
            cancelled.append(job_id)

    await gather_limited(AT_ONCE, sorted(open_), cancel)
    return bool(cancelled)


async def _cancel_compilation(state: ServiceState, batch_id: str, key: str) -> bool:
    """End the items of `key`. Its job continues while other callers want it."""
    payload = await state.jobs.payload(key)
    if payload is None:
        return False
    job = read_stored(CompileJob, payload)
    toolchain = await state.toolchains.find(job.toolchain_id)
    record = cancelled_record(job, toolchain)
    if await state.batches.withdraw(batch_id, key, record):
        await state.jobs.withdraw(key, interest_of_batch(batch_id), record)
    return True

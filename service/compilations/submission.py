"""Find or enqueue: the policy of a compile request, from its job to its answer.

A newcomer should read this first. A hit is answered from the store; else the job is joined or
created, and waited for. What was evicted in the meantime is made again, at most three times.
"""

import time
from collections.abc import Sequence

import orjson

from compiler.compilation import State, new_compilation
from compiler.job import CompileJob
from compiler.request import CompileRequest
from compiler.toolchain import Toolchain
from service.caller import Caller
from service.compilations.answer import FINISHED_STATES, Answer, Cache
from service.compilations.submit_and_wait import MAX_LOSSES, IsGone, attended, is_lost, waiting_for
from service.state import ServiceState
from store.errors import JobLost
from store.jobs.types import Priority, SubmitOutcome, Waiting
from store.lanes import compile_lane

MAX_EVICTIONS = 3
MAX_QUEUED_MS = 3_600_000
"""How long a job may wait for a worker before it is ended with `worker_lost`."""


async def find_or_enqueue(
    shared: ServiceState,
    job: CompileJob,
    toolchain: Toolchain,
    request: CompileRequest,
    caller: Caller,
    wait_s: float,
    is_gone: IsGone,
) -> Answer:
    """Return the answer to a POST; `is_gone` says whether its client has hung up.

    Raises QueueFull, CallerQueueFull, StoreUnavailable.
    """
    refresh = request.refresh
    evictions = losses = 0
    end = time.monotonic() + wait_s
    while True:
        waiting = waiting_for(max(0.0, end - time.monotonic()))
        if not refresh and (hit := await shared.compilations.hit(job.key, request.include)):
            return Answer(job.key, "succeeded", hit.record, "hit", included=hit.included)
        submitted = await shared.jobs.submit(
            job.key,
            lane=compile_lane(toolchain.id),
            priority=Priority(request.priority),
            payload=job.model_dump_json().encode(),
            caller=caller.id,
            deadline_ms=MAX_QUEUED_MS,
            refresh=refresh,
            timeout_ms=int(request.timeout_s * 1000),
            waiting=waiting,
            keeps_payload=True,
        )
        cache: Cache = submitted.outcome.value
        record = submitted.record
        if submitted.outcome is not SubmitOutcome.HIT:
            try:
                record = await _awaited(shared, job, toolchain, caller, waiting, is_gone)
            except JobLost:
                losses += 1
                if losses == MAX_LOSSES:
                    raise
                continue  # it is submitted again
        if record is None:
            return await unfinished(shared, job, toolchain, cache)
        if submitted.is_older:
            continue  # others waited for that one; now it can be compiled again
        answer = await finished(shared, job.key, record, cache, request.include)
        if answer is not None:
            return answer
        # a blob went missing between the finish and now: a miss, so it is compiled again
        refresh = True
        evictions += 1
        shared.metrics.evictions.inc()
        if evictions == MAX_EVICTIONS:
            shared.metrics.direct_answers.inc()
            return Answer(job.key, state_of(record), record, cache)


async def _awaited(
    shared: ServiceState,
    job: CompileJob,
    toolchain: Toolchain,
    caller: Caller,
    waiting: Waiting | None,
    is_gone: IsGone,
) -> bytes | None:
    """Return the record of a job that was submitted, None when it is not over in time.

    Raises JobLost when the store has lost it.
    """
    record = None
    if waiting is not None:
        record = await attended(shared, job, toolchain, caller, waiting, is_gone)
    if record is None and await is_lost(shared, job.key):
        raise JobLost(job.key)
    return record


async def unfinished(
    shared: ServiceState, job: CompileJob, toolchain: Toolchain | None, cache: Cache | None
) -> Answer:
    """Return the answer for a job that is queued or running."""
    standing = await shared.jobs.state(job.key)
    state: State = "running" if standing and standing.position is None else "queued"
    record = new_compilation(job, toolchain, state).model_dump_json().encode()
    position = standing.position if standing else None
    return Answer(job.key, state, record, cache, queue_position=position)


async def finished(
    shared: ServiceState, key: str, record: bytes, cache: Cache | None, include: Sequence[str]
) -> Answer | None:
    """Return the answer with the included artifacts, None when a blob of them is gone."""
    included = {}
    if include:
        artifacts = orjson.loads(record)["artifacts"]
        for stage in include:
            if stage in artifacts:
                data = await shared.blobs.get(artifacts[stage]["digest"])
                if data is None:
                    return None
                included[stage] = data
    return Answer(key, state_of(record), record, cache, included=included)


def state_of(record: bytes) -> str:
    """Return the state that a finished record tells."""
    state: str = orjson.loads(record)["state"]
    if state not in FINISHED_STATES:
        raise ValueError(f"a stored record has the state {state!r}")
    return state

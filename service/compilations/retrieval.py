"""Compilations by key: job, record and answer, for callers that may see them.

A compile key covers the namespace of the API key that posted it. For a key of another namespace
the answer is 404. Nothing is submitted here.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from compiler.compilation import State, cancelled_compilation, new_compilation
from compiler.job import CompileJob
from compiler.toolchain import Toolchain
from jobs.deadline import Deadline
from jobs.kind import state_of_record
from jobs.submission import IsGone, WaitingClient
from service.caller import Caller
from service.compilations.answer import FINISHED_STATES, Answer, Cache, check_included
from service.http.problems import ProblemRaised
from service.state import ServiceState
from store.byte_limits import MAX_ANSWER_BYTES
from store.errors import JobLost
from store.stored import Unreadable, read_stored

_COMPILE_KEY = re.compile(r"[0-9a-f]{64}")

# between two reads a job may finish, or be withdrawn and posted again
_MAX_LOOKS = 3


async def read_compile_job(state: ServiceState, caller: Caller, key: str) -> CompileJob:
    """Return the job of the compilation `key`: unfinished, over, or cached.

    Raises ProblemRaised (404) if none exists, also for keys of other kinds or namespaces.
    """
    payload = None
    if _COMPILE_KEY.fullmatch(key):
        payload = await state.jobs.kept_payload(key) or await state.compilations.request(key)
    job = _parse_compile_job(payload) if payload is not None else None
    if job is None or job.namespace != caller.namespace:
        raise _no_compilation(key)
    return job


def _parse_compile_job(payload: bytes) -> CompileJob | None:
    try:
        return read_stored(CompileJob, payload)
    except Unreadable:
        return None  # keys of inspections and derivations look the same


def _no_compilation(key: str) -> ProblemRaised:
    return ProblemRaised("not_found", f"There is no compilation {key}; it may have been evicted")


async def find_compilation(
    state: ServiceState,
    caller: Caller,
    key: str,
    wait_s: float = 0,
    include: Sequence[str] = (),
    is_gone: IsGone | None = None,
) -> Answer:
    """Return the compilation `key`, waiting for it if it is running.

    Raises ProblemRaised: 404, or 410 when an included artifact is gone.
    """
    job = await read_compile_job(state, caller, key)
    toolchain = await state.toolchains.find(job.toolchain_id)
    record = None
    if is_gone is not None:
        client = WaitingClient(caller.id, partial(cancelled_record, job, toolchain), is_gone)
        record = await _wait_for_record(state, key, Deadline(wait_s), client)
    for _ in range(_MAX_LOOKS):
        record = record or await _finished_record(state, key)
        if record is not None:
            break
        if await state.jobs.state(key) is not None:
            return await answer_unfinished(state, job, toolchain, None)
    if record is None:
        raise _no_compilation(key)
    answer = await answer_finished(state, key, record, None, include)
    if answer is None:
        raise await forget_evicted(state, key)
    return answer


async def _wait_for_record(
    state: ServiceState, key: str, deadline: Deadline, client: WaitingClient
) -> bytes | None:
    waiting = client.interest(deadline)
    if waiting is not None and await state.jobs.begin_wait(key, waiting):
        with suppress(JobLost):  # the job has expired meanwhile
            return await state.client.wait_as_client(key, waiting, deadline, client)
    return None


async def _finished_record(state: ServiceState, key: str) -> bytes | None:
    result = await state.jobs.result(key)
    if result is not None:
        return result.record
    if await state.jobs.state(key) is not None:
        return None
    return await state.compilations.read(key)


async def answer_unfinished(
    state: ServiceState, job: CompileJob, toolchain: Toolchain | None, cache: Cache | None
) -> Answer:
    """Return the answer for a job that is queued or running."""
    status = await state.jobs.state(job.key)
    name: State = "running" if status and status.position is None else "queued"
    record = new_compilation(job, toolchain, name).model_dump_json().encode()
    position = status.position if status else None
    return Answer(job.key, name, record, cache, queue_position=position)


async def answer_finished(
    state: ServiceState, key: str, record: bytes, cache: Cache | None, include: Sequence[str]
) -> Answer | None:
    """Return the answer with the included artifacts, None if one of their blobs is gone.

    Raises AnswerTooLarge before it reads artifacts that do not fit.
    """
    included = {}
    if include:
        artifacts = check_included(record, include, MAX_ANSWER_BYTES)
        for stage in include:
            if stage in artifacts:
                data = await state.blobs.get(artifacts[stage]["digest"])
                if data is None:
                    return None
                included[stage] = data
    return Answer(key, state_in(record), record, cache, included=included)


def state_in(record: bytes) -> str:
    """Return the state in a finished record."""
    state = state_of_record(record)
    if state not in FINISHED_STATES:
        raise ValueError(f"a stored record has the state {state!r}")
    return state


def cancelled_record(job: CompileJob, toolchain: Toolchain | None) -> bytes:
    """Return the record of a `job` whose callers all withdrew."""
    return cancelled_compilation(job, toolchain).model_dump_json().encode()


async def forget_evicted(state: ServiceState, key: str) -> ProblemRaised:
    """Return the problem (410) of an artifact that left the cache; the next POST will be a miss.

    Cached answers, here and in other services, and the job's own result would still name the
    artifact, so all of them are dropped.
    """
    await state.jobs.forget(key)
    state.responses.forget(key)
    await state.invalidate(key)
    state.metrics.evictions.inc()
    return ProblemRaised("evicted", f"An artifact of {key} has left the cache; post again")

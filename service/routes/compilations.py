"""GET and DELETE of compilations; `posting` has the POST."""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from compiler.compilation import CompilationAnswer, cancelled_compilation
from compiler.target import STAGES
from service.caller import Caller
from service.compilations.answer import Answer, server_timing
from service.compilations.posted import evicted, no_compilation, posted_job
from service.compilations.submission import finished, unfinished
from service.compilations.submit_and_wait import IsGone, attended, waiting_for
from service.http.problems import ProblemRaised
from service.http.query import requested_wait
from service.routes.posting import WAIT
from service.state import ServiceState, state_of
from store.errors import JobLost
from store.jobs.types import Cancellation

router = APIRouter(prefix="/v1/compilations", tags=["compilations"])
ALL_STAGES = tuple(dict.fromkeys(stage for stages in STAGES.values() for stage in stages))
_STAGES = {"pattern": "^(({0})(,({0}))*)?$".format("|".join(ALL_STAGES))}
Include = Annotated[
    Sequence[Annotated[str, Field(json_schema_extra=_STAGES)]],
    Query(description="artifacts to inline: by comma, or repeated"),
]


@router.get(
    "/{key}",
    summary="A compilation, by key",
    response_model=CompilationAnswer,
    openapi_extra={"parameters": [WAIT]},
)
async def get_compilation(request: Request, key: str, include: Include = ()) -> Response:
    """Answer 200 whatever the state; `include` lists artifacts to inline, by comma or repeated."""
    started = time.perf_counter()
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    wait = requested_wait(request, state.settings.max_wait_s)
    stages = _included_stages(include)
    is_gone = request.is_disconnected
    answer = await find_compilation(state, caller, key, wait.seconds, stages, is_gone)
    headers = {"Server-Timing": server_timing(started)} | wait.headers
    if not answer.is_finished:
        headers["Retry-After"] = "1"
    return Response(answer.body(), headers=headers, media_type="application/json")


def _included_stages(include: Sequence[str]) -> list[str]:
    stages = [stage for stage in ",".join(include).split(",") if stage]
    for stage in stages:
        if stage not in ALL_STAGES:
            detail = f"include: there is no stage {stage!r}; there is {', '.join(ALL_STAGES)}"
            raise ProblemRaised("invalid_request", detail, parameter="include")
    return stages


async def find_compilation(
    state: ServiceState,
    caller: Caller,
    key: str,
    wait_s: float = 0,
    include: Sequence[str] = (),
    is_gone: IsGone | None = None,
) -> Answer:
    """Return the compilation `key`, waiting for it if it is under way.

    Raises ProblemRaised: 404, or 410 when an included artifact is gone.
    """
    job = await posted_job(state, caller, key)
    toolchain = await state.toolchains.find(job.toolchain_id)
    waiting = waiting_for(wait_s)
    record = None
    if waiting is not None and is_gone is not None and await state.jobs.attend(key, waiting):
        with suppress(JobLost):  # then it is not here any more
            record = await attended(state, job, toolchain, caller, waiting, is_gone)
    if record is None:
        record = await _finished_record(state, key)
    if record is None:
        if await state.jobs.state(key) is not None:
            return await unfinished(state, job, toolchain, None)
        # it may have finished between the two looks
        record = await _finished_record(state, key)
    if record is None:
        raise no_compilation(key)
    answer = await finished(state, key, record, None, include)
    if answer is None:
        raise await evicted(state, key)
    return answer


async def _finished_record(state: ServiceState, key: str) -> bytes | None:
    result = await state.jobs.result(key)
    if result is not None:
        return result.record
    if await state.jobs.state(key) is not None:
        return None
    return await state.compilations.read(key)


@router.delete(
    "/{key}",
    summary="Withdraw interest; the work stops when nobody is interested",
    responses={202: {"model": CompilationAnswer}},
    response_model=CompilationAnswer,
)
async def delete_compilation(request: Request, key: str) -> Response:
    """Answer 202, or 200 when it was finished."""
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    job = await posted_job(state, caller, key)
    toolchain = await state.toolchains.find(job.toolchain_id)
    record = cancelled_compilation(job, toolchain).model_dump_json().encode()
    done = await state.jobs.cancel(key, caller.id, record)
    answer = await find_compilation(state, caller, key)
    is_accepted = done in {Cancellation.WITHDRAWN, Cancellation.CANCELLED}
    return Response(
        answer.body(), status_code=202 if is_accepted else 200, media_type="application/json"
    )


@router.get("/{key}/request", summary="What was posted, with options resolved")
async def get_request(request: Request, key: str) -> dict[str, Any]:
    """Answer the source, specialization, target and resolved options of a compilation."""
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    return (await posted_job(state, caller, key)).as_request()

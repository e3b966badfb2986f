"""POST of an inspection: a worker reads the kernels of a source."""

import time

from fastapi import APIRouter, Request, Response

from compiler.inspection import AUTOTUNED_EXAMPLE, EXAMPLE, Inspection, InspectRequest, inspect_job
from compiler.request import limits
from service.compilations.answer import CACHE_STATUS, RETRY_AFTER_S, server_timing
from service.compilations.derivations import inspect
from service.file_digests import keep_texts, with_texts
from service.http.body import read_body
from service.http.openapi import body_of, wait_parameter
from service.http.query import requested_wait
from service.large_bodies import parsed
from service.state import state_of

DEFAULT_WAIT_S = 10.0
"""An inspection takes milliseconds and has no URL to poll, so a POST waits for it."""
router = APIRouter(prefix="/v1", tags=["compilations"])


@router.post(
    "/inspect",
    summary="List the kernels of a source: parameters, configurations, callees",
    response_model=Inspection,
    responses={202: {"model": Inspection}},
    openapi_extra={
        "requestBody": body_of(
            InspectRequest, {"one kernel": EXAMPLE, "an autotuner": AUTOTUNED_EXAMPLE}
        ),
        "parameters": [wait_parameter(DEFAULT_WAIT_S)],
    },
)
async def post_inspection(request: Request) -> Response:
    """Answer 200 with the kernels, or with the `problem` of a source that cannot be parsed.

    202: not ready yet; post the same request again.
    """
    started = time.perf_counter()
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    wait = requested_wait(request, state.settings.max_wait_s, DEFAULT_WAIT_S)
    body = await read_body(request, state.settings.max_body_bytes)
    filled = await with_texts(state, caller, body, state.settings.max_body_bytes)
    asked = await parsed(state, filled, InspectRequest)
    toolchain = await state.toolchains.choose(asked.triton)
    limits.check(asked, state.settings.request_limits)
    job = inspect_job(asked, toolchain, caller.namespace)
    await keep_texts(state, caller, job.module, job.files)
    cache, record = await inspect(state, job, caller, wait.seconds)
    headers = {"Cache-Status": CACHE_STATUS[cache], "Server-Timing": server_timing(started)}
    if record is not None:
        return Response(record, headers=headers | wait.headers, media_type="application/json")
    status = await state.jobs.state(job.key)
    is_running = status is not None and status.position is None
    unfinished = Inspection(state="running" if is_running else "queued")
    return Response(
        unfinished.model_dump_json(),
        status_code=202,
        headers=headers | wait.headers | {"Retry-After": str(RETRY_AFTER_S)},
        media_type="application/json",
    )

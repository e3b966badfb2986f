"""The route of a program's bundle: its compiled kernels, ready for Triton's cache."""

import time

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from jobs.deadline import Deadline
from programs.service.kernel_bundle import bundle_of_kernels
from programs.service.program_submission import PROGRAMS
from service.compilations.answer import RETRY_AFTER_S, server_timing
from service.compilations.bundle import size_bytes, tar_of
from service.compilations.derivations import DerivationRequest
from service.http.openapi import bytes_as, wait_parameter
from service.http.query import requested_wait
from service.owned_jobs import OVER_STATES
from service.routes.owned_job_routes import SCOPE
from service.state import state_of

router = APIRouter(prefix="/v1/programs", tags=["programs"])


@router.get(
    "/{program_id}/bundle",
    summary="Every specialization that a program launches, for Triton's cache",
    response_class=Response,
    responses=bytes_as("application/x-tar") | {202: {"description": "Not yet; ask again"}},
    openapi_extra={"parameters": [wait_parameter()]},
)
async def get_bundle(request: Request, program_id: str) -> Response:
    """Answer a tar whose `install.py` fills Triton's cache, 202 while its files are made.

    Its kernels are compiled for the `target` of a program with `"stop_after": "kernels"`.
    `bundle.json` lists the kernels that were left out, with reasons.
    """
    started = time.perf_counter()
    state = state_of(request)
    caller = await state.callers.identify(request, SCOPE)
    await PROGRAMS.find_owned(state, caller, program_id)
    wait = requested_wait(request, state.settings.max_wait_s)
    deadline = Deadline(wait.seconds)
    program = orjson.loads(await PROGRAMS.wait_for(state, program_id, deadline))
    members = None
    if program["state"] in OVER_STATES:
        members = await bundle_of_kernels(DerivationRequest(state, caller, deadline), program)
    headers = wait.headers | {"Server-Timing": server_timing(started)}
    if members is None:
        body = orjson.dumps({"state": "running", "url": request.url.path})
        headers |= {"Retry-After": str(RETRY_AFTER_S)}
        return Response(body, status_code=202, headers=headers, media_type="application/json")
    headers |= {
        "Cache-Control": "private, no-cache",
        "Content-Disposition": f'attachment; filename="kernels-{program_id}.tar"',
        "Content-Length": str(size_bytes(members)),
    }
    return StreamingResponse(
        tar_of(state, members), headers=headers, media_type="application/x-tar"
    )

"""Derivations of a compilation: SASS, line maps, instructions, passes, NumPy, exports.

A worker makes them on demand, so a request waits as a POST does: 202 until the result exists.
"""

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from compiler.compilation import Compilation
from compiler.derivation import EXPORTS, JSON, KINDS, Derivation, DerivationKind
from compiler.stages import BY_NAME
from jobs.deadline import Deadline
from service.compilations.answer import CACHE_STATUS, RETRY_AFTER_S, server_timing
from service.compilations.derivations import DerivationRequest, Found, derived, read_finished
from service.compilations.retrieval import forget_evicted
from service.http.examples import example
from service.http.openapi import bytes_as, wait_parameter
from service.http.problems import ProblemRaised
from service.http.query import requested_wait
from service.routes.artifacts import blob_response
from service.state import ServiceState, state_of

router = APIRouter(prefix="/v1/compilations/{key}", tags=["artifacts"])

_UNFINISHED: dict[int | str, dict[str, Any]] = {202: {"description": "Not ready yet; ask again"}}
_EXPORTED = [kind.media_type for name, kind in KINDS.items() if name.startswith(EXPORTS)]
_OPENAPI: dict[str, Any] = {"parameters": [wait_parameter()]}
_EXAMPLES = Path(__file__).parents[1] / "examples"


def _add_route(what: str, kind: DerivationKind) -> None:
    """Add the route of one kind: stages are artifacts, the others have their own paths."""

    async def get(request: Request, key: str) -> Response:
        return await _answer_derived(request, key, what)

    is_json, file = kind.media_type == JSON, _EXAMPLES / f"{what}.json"
    answered = {} if is_json else bytes_as(kind.media_type)
    if file.exists():
        answered = {200: {"content": {JSON: {"example": example(file)}}}}
    router.add_api_route(
        f"/artifacts/{what}" if what in BY_NAME else f"/{what}",
        get,
        name=f"get_{what}",
        summary=kind.summary,
        description=kind.description,
        response_class=JSONResponse if is_json else Response,
        responses=answered | _UNFINISHED,
        openapi_extra=_OPENAPI,
    )


for _what, _kind in KINDS.items():
    if _kind.summary:
        _add_route(_what, _kind)


@router.get(
    "/exports/{format}",
    summary="Export the kernel: c, cuda-inline, rust, python, triton-cache",
    response_class=Response,
    responses=bytes_as(*_EXPORTED) | _UNFINISHED,
    openapi_extra=_OPENAPI,
)
async def get_export(request: Request, key: str, format: str) -> Response:  # noqa: A002
    """Answer a file that launches the kernel without this service."""
    if EXPORTS + format not in KINDS:
        known = ", ".join(k.removeprefix(EXPORTS) for k in KINDS if k.startswith(EXPORTS))
        detail = f"There is no export {format!r}; the exports are {known}"
        raise ProblemRaised("no_such_stage", detail)
    return await _answer_derived(request, key, EXPORTS + format)


async def _answer_derived(request: Request, key: str, what: str) -> Response:
    async def find(asked: DerivationRequest) -> tuple[Sequence[Compilation], Found]:
        compilation = await read_finished(asked.state, asked.caller, key)
        return [compilation], await derived(asked, compilation, what)

    return await answer_derivation(request, what, find)


async def answer_derivation(
    request: Request,
    what: str,
    find: Callable[[DerivationRequest], Awaitable[tuple[Sequence[Compilation], Found]]],
) -> Response:
    """Answer the result of `find`; call it once more if a blob was evicted meanwhile."""
    started = time.perf_counter()
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    wait = requested_wait(request, state.settings.max_wait_s)
    deadline = Deadline(wait.seconds)
    for refresh in (False, True):
        compilations, derived = await find(DerivationRequest(state, caller, deadline, refresh))
        headers = _headers(compilations[0], what) | wait.headers
        headers["Cache-Status"] = CACHE_STATUS[derived.cache]
        headers["Server-Timing"] = server_timing(started)
        if derived.outcome is None:
            return await _answer_unfinished(state, derived.job_id, request, headers)
        response = await _answer_finished(request, state, derived.outcome, headers)
        if response is not None:
            return response
    gone = [await forget_evicted(state, compilation.key) for compilation in compilations]
    raise gone[0]


async def _answer_finished(
    request: Request, state: ServiceState, outcome: Derivation, headers: dict[str, str]
) -> Response | None:
    """Return the response to a finished derivation, None when its blob is gone.

    Raises ProblemRaised when it failed.
    """
    problem = outcome.problem
    if problem is not None and problem.slug == "evicted":
        return None
    if problem is not None:
        raise ProblemRaised(problem.slug, problem.detail)
    assert outcome.digest is not None
    media_type = KINDS[outcome.what].media_type
    return await blob_response(request, state, outcome.digest, media_type, headers)


async def _answer_unfinished(
    state: ServiceState, id_: str, request: Request, headers: dict[str, str]
) -> Response:
    status = await state.jobs.state(id_)
    is_running = status is not None and status.position is None
    body = {
        "state": "running" if is_running else "queued",
        "queue_position": status.position if status else None,
        "url": request.url.path,
    }
    own = {"Location": request.url.path, "Retry-After": str(RETRY_AFTER_S)}
    headers.pop("Content-Disposition")
    return Response(
        orjson.dumps(body), status_code=202, headers=headers | own, media_type="application/json"
    )


def _headers(compilation: Compilation, what: str) -> dict[str, str]:
    kernel = compilation.kernel or ""
    name = kernel if re.fullmatch(r"\w+", kernel, re.ASCII) else "kernel"
    return {
        "Cache-Control": "private, no-cache",
        "Content-Disposition": f'inline; filename="{name}.{KINDS[what].suffix}"',
    }

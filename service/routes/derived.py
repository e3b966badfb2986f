"""What is made from a compilation on demand: SASS, line maps, instructions, passes, NumPy, exports.

A worker makes it, so a request waits as a POST of a compilation does: 202 until it is there.
"""

import re
import time
from functools import partial
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from compiler.compilation import Compilation
from compiler.derivation import EXPORTS, KINDS, Derivation, DeriveJob, key_of
from compiler.job import CompileJob
from compiler.target import parse_target
from service.caller import Caller
from service.compilations.answer import CACHE_STATUS, RETRY_AFTER_S, Cache, server_timing
from service.compilations.retrieval import find_compilation, forget_evicted
from service.compilations.submission import MAX_QUEUED_MS
from service.http.openapi import bytes_as, wait_parameter
from service.http.problems import ProblemRaised
from service.http.query import requested_wait
from service.routes.artifacts import blob_response
from service.state import ServiceState, state_of
from service.submit_and_wait import submit_and_wait
from store.jobs.types import Priority, derive_lane

router = APIRouter(prefix="/v1/compilations/{key}", tags=["artifacts"])

_UNFINISHED: dict[int | str, dict[str, Any]] = {202: {"description": "Not yet; ask again"}}
_EXPORTED = [kind.media_type for name, kind in KINDS.items() if name.startswith(EXPORTS)]
_OPENAPI: dict[str, Any] = {"parameters": [wait_parameter()]}


@router.get(
    "/artifacts/sass",
    summary="The machine code disassembled, with the source lines it stems from",
    response_class=Response,
    responses=bytes_as(KINDS["sass"].media_type) | _UNFINISHED,
    openapi_extra=_OPENAPI,
)
async def get_sass(request: Request, key: str) -> Response:
    """Answer what nvdisasm makes of the cubin."""
    return await _answer_derived(request, key, "sass")


@router.get(
    "/artifacts/numpy",
    summary="The kernel as a Python module on NumPy, line by line beside the source",
    response_class=Response,
    responses=bytes_as(KINDS["numpy"].media_type) | _UNFINISHED,
    openapi_extra=_OPENAPI,
)
async def get_numpy(request: Request, key: str) -> Response:
    """Answer what the compiler understood of the kernel; it runs with NumPy alone."""
    return await _answer_derived(request, key, "numpy")


@router.get(
    "/lines",
    summary="Which lines of every artifact each line of the source became",
    responses=_UNFINISHED,
    openapi_extra=_OPENAPI,
)
async def get_lines(request: Request, key: str) -> Response:
    """Answer the lines, 1-based; what was inlined stands under the helper's and the call's line."""
    return await _answer_derived(request, key, "lines")


@router.get(
    "/instructions",
    summary="How many instructions of each kind the kernel has, by class, opcode and line",
    responses=_UNFINISHED,
    openapi_extra=_OPENAPI,
)
async def get_instructions(request: Request, key: str) -> Response:
    """Answer what SASS or AMD assembly is made of; each instruction is counted once."""
    return await _answer_derived(request, key, "instructions")


@router.get(
    "/passes",
    summary="What each compiler pass made of the module",
    responses=_UNFINISHED,
    openapi_extra=_OPENAPI,
)
async def get_passes(request: Request, key: str) -> Response:
    """Answer the passes in order, with the module before and after those that changed it."""
    return await _answer_derived(request, key, "passes")


@router.get(
    "/exports/{format}",
    summary="The kernel to take away: c, cuda-inline, rust, python, triton-cache",
    response_class=Response,
    responses=bytes_as(*_EXPORTED) | _UNFINISHED,
    openapi_extra=_OPENAPI,
)
async def get_export(request: Request, key: str, format: str) -> Response:  # noqa: A002
    """Answer one file that launches the kernel without this service."""
    if EXPORTS + format not in KINDS:
        known = ", ".join(k.removeprefix(EXPORTS) for k in KINDS if k.startswith(EXPORTS))
        raise ProblemRaised("no_such_stage", f"There is no export {format!r}; there is {known}")
    return await _answer_derived(request, key, EXPORTS + format)


async def _answer_derived(request: Request, key: str, what: str) -> Response:
    started = time.perf_counter()
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    wait = requested_wait(request, state.settings.max_wait_s)
    compilation = await _read_finished(state, caller, key)
    _check_stages(compilation, what)
    id_ = key_of(compilation, what)
    headers = _headers(compilation, what) | wait.headers
    refresh = False
    for _ in range(2):
        cache, record = await _find_or_submit(
            state, compilation, what, caller, wait.seconds, refresh
        )
        headers |= {"Cache-Status": CACHE_STATUS[cache], "Server-Timing": server_timing(started)}
        if record is None:
            return await _answer_unfinished(state, id_, request, headers)
        outcome = Derivation.model_validate_json(record)
        response = await _answer_finished(request, state, outcome, headers)
        if response is not None:
            return response
        refresh = True  # its blob has been evicted: make it again
    raise await forget_evicted(state, key)


async def _read_finished(state: ServiceState, caller: Caller, key: str) -> Compilation:
    answer = await find_compilation(state, caller, key)
    if not answer.is_finished:
        detail = f"The compilation is {answer.state}; ask again, or wait with GET {key}?wait=S"
        raise ProblemRaised("not_finished", detail, headers={"Retry-After": "1"})
    return Compilation.model_validate_json(answer.record)


def _check_stages(compilation: Compilation, what: str) -> None:
    """Raise ProblemRaised (404) when the compilation lacks what is needed."""
    needs = KINDS[what].needs
    if any(stage in compilation.artifacts for stage in needs):
        return
    target = parse_target(compilation.target)
    if not any(stage in target.stages for stage in needs):
        detail = f"{what} is not made for {target}: it needs {' or '.join(needs)}"
        raise ProblemRaised("no_such_stage", detail)
    detail = f"{what} needs {' or '.join(needs)}, which the compilation did not reach"
    raise ProblemRaised("stage_not_reached", detail)


async def _find_or_submit(
    state: ServiceState,
    compilation: Compilation,
    what: str,
    caller: Caller,
    wait_s: float,
    refresh: bool,
) -> tuple[Cache, bytes | None]:
    """Return what the cache did, and the outcome if it is there in time."""
    id_ = key_of(compilation, what)
    if not refresh and (record := await state.derivations.read(id_)):
        return "hit", record
    submit = partial(
        state.jobs.submit,
        id_,
        lane=derive_lane(compilation.toolchain.id),
        priority=Priority.INTERACTIVE,
        payload=(await _derive_job(state, id_, compilation, what)).model_dump_json().encode(),
        caller=caller.id,
        deadline_ms=MAX_QUEUED_MS,
        refresh=refresh,
    )
    submitted, record = await submit_and_wait(state, submit, wait_s)
    return submitted.outcome.value, record


async def _derive_job(
    state: ServiceState, id_: str, compilation: Compilation, what: str
) -> DeriveJob:
    compile_job = None
    if KINDS[what].needs_request:
        key = compilation.key
        posted = await state.jobs.kept_payload(key) or await state.compilations.request(key)
        if posted is None:
            raise await forget_evicted(state, key)
        compile_job = CompileJob.model_validate_json(posted)
    return DeriveJob(key=id_, what=what, compilation=compilation, compile_job=compile_job)


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

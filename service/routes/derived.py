"""Derivations of a compilation: SASS, line maps, instructions, passes, NumPy, exports.

A worker makes them on demand, so a request waits as a POST does: 202 until the result exists.
"""

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from compiler.compilation import Compilation
from compiler.derivation import EXPORTS, KINDS, Derivation
from jobs.deadline import Deadline
from service.compilations.answer import CACHE_STATUS, RETRY_AFTER_S, server_timing
from service.compilations.derivations import DerivationRequest, Found, derived, read_finished
from service.compilations.retrieval import forget_evicted
from service.http.openapi import bytes_as, wait_parameter
from service.http.problems import ProblemRaised
from service.http.query import requested_wait
from service.routes.artifacts import blob_response
from service.state import ServiceState, state_of

router = APIRouter(prefix="/v1/compilations/{key}", tags=["artifacts"])

_UNFINISHED: dict[int | str, dict[str, Any]] = {202: {"description": "Not ready yet; ask again"}}
_EXPORTED = [kind.media_type for name, kind in KINDS.items() if name.startswith(EXPORTS)]
_OPENAPI: dict[str, Any] = {"parameters": [wait_parameter()]}
_INSTRUCTIONS = {
    "total": 81,
    "code_bytes": 1296,
    "by_class": {"global_load": 16, "global_store": 8, "fp32": 8, "integer": 25, "other": 0},
    "by_opcode": {"LDG.E.128": 4, "FADD": 8},
    "by_line": [
        {
            "file": "user.py",
            "line": 11,
            "total": 14,
            "local_bytes": 0,
            "by_class": {"global_load": 8, "move": 6},
        },
        {"file": None, "line": None, "total": 1, "local_bytes": 0, "by_class": {"control": 1}},
    ],
}
_LAYOUTS = {
    "layouts": [
        {
            "type": "tensor<128xf32, #blocked>",
            "shape": [128],
            "kind": "distributed",
            "bases": {
                "register": [],
                "lane": [[1], [2], [4], [8], [16]],
                "warp": [[32], [64]],
                "block": [],
            },
            "problem": None,
        }
    ],
    "truncated": False,
}


_EXPLANATION = {
    "matrix_products": [
        {
            "file": "user.py",
            "line": 24,
            "unit": "mma.sync",
            "shape": "32x64x64 f16",
            "reason": "wgmma needs M in 64s, not 32",
            "message": "dot 32x64x64 f16: mma.sync: wgmma needs M in 64s, not 32",
        }
    ],
    "tma": {
        "copies": 0,
        "reason": "the kernel has no tensor descriptor",
        "message": "TMA: none; the kernel has no tensor descriptor",
    },
    "not_vectorised": [
        {
            "file": "user.py",
            "line": 21,
            "kind": "load",
            "bytes_each": 2,
            "count": 8,
            "message": "not vectorised: 8 loads of 2 bytes",
        }
    ],
    "uncoalesced": [
        {
            "file": "user.py",
            "line": 21,
            "kind": "load",
            "lanes": 32,
            "bytes_each": 2,
            "apart_bytes": 512,
            "multiple_bytes": 0,
            "name": None,
            "sectors": 32,
            "needed": 2,
            "sector_bytes": 32,
            "message": "uncoalesced: a load of 2 bytes by each of 32 lanes, 512 bytes apart: 32 "
            "pieces of 32 bytes, where 2 would do",
        }
    ],
    "layout_conversions": [
        {
            "file": "user.py",
            "line": 27,
            "count": 1,
            "elements": 2048,
            "largest": "32x64xf32 #mma -> #blocked",
            "message": "layout conversion: 32x64xf32 #mma -> #blocked",
        }
    ],
}


@router.get(
    "/artifacts/sass",
    summary="Disassembled machine code, with its source lines",
    response_class=Response,
    responses=bytes_as(KINDS["sass"].media_type) | _UNFINISHED,
    openapi_extra=_OPENAPI,
)
async def get_sass(request: Request, key: str) -> Response:
    """Answer nvdisasm's listing of the cubin."""
    return await _answer_derived(request, key, "sass")


@router.get(
    "/artifacts/numpy",
    summary="The kernel translated to a NumPy module, with its source lines",
    response_class=Response,
    responses=bytes_as(KINDS["numpy"].media_type) | _UNFINISHED,
    openapi_extra=_OPENAPI,
)
async def get_numpy(request: Request, key: str) -> Response:
    """Answer a module that computes what the kernel's TTIR says. It needs only NumPy."""
    return await _answer_derived(request, key, "numpy")


@router.get(
    "/lines",
    summary="Map each source line to its lines in every artifact",
    responses=_UNFINISHED,
    openapi_extra=_OPENAPI,
)
async def get_lines(request: Request, key: str) -> Response:
    """Answer 1-based lines. Inlined code appears at the helper's line and at the call's."""
    return await _answer_derived(request, key, "lines")


@router.get(
    "/instructions",
    summary="Count instructions by class, opcode and line",
    responses=_UNFINISHED | {200: {"content": {"application/json": {"example": _INSTRUCTIONS}}}},
    openapi_extra=_OPENAPI,
)
async def get_instructions(request: Request, key: str) -> Response:
    """Answer counts for SASS or AMD assembly. Each instruction counts once."""
    return await _answer_derived(request, key, "instructions")


@router.get(
    "/explanation",
    summary="What makes the kernel costly, by source line",
    responses=_UNFINISHED | {200: {"content": {"application/json": {"example": _EXPLANATION}}}},
    openapi_extra=_OPENAPI,
)
async def get_explanation(request: Request, key: str) -> Response:
    """Answer which unit multiplies matrices and why no faster one, accesses, and conversions."""
    return await _answer_derived(request, key, "explanation")


@router.get(
    "/passes",
    summary="List the compiler passes, with the module before and after",
    responses=_UNFINISHED,
    openapi_extra=_OPENAPI,
)
async def get_passes(request: Request, key: str) -> Response:
    """Answer the passes in order. Passes that changed the module have its text."""
    return await _answer_derived(request, key, "passes")


@router.get(
    "/layouts",
    summary="Tell which lane, register and warp holds each element of a TTGIR type",
    responses=_UNFINISHED | {200: {"content": {"application/json": {"example": _LAYOUTS}}}},
    openapi_extra=_OPENAPI,
)
async def get_layouts(request: Request, key: str) -> Response:
    """Answer the types that the TTGIR's tensors have, each with its layout in linear form.

    `bases` holds offsets into the tensor: those of register 1, 2, 4 and so on, and the same for
    lanes, warps and blocks of a cluster. The place of any register is the XOR of those whose bits
    its number has, and likewise for lanes. For shared memory they are of element offsets in it,
    for tensor memory of rows and of columns as wide as an element. `problem` says why a type has
    no bases: Triton does not tell its layout, or it is a part of an allocation.
    """
    return await _answer_derived(request, key, "layouts")


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
        raise ProblemRaised("no_such_stage", f"There is no export {format!r}; there is {known}")
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
        compilations, found = await find(DerivationRequest(state, caller, deadline, refresh))
        headers = _headers(compilations[0], what) | wait.headers
        headers["Cache-Status"] = CACHE_STATUS[found.cache]
        headers["Server-Timing"] = server_timing(started)
        if found.outcome is None:
            return await _answer_unfinished(state, found.job_id, request, headers)
        response = await _answer_finished(request, state, found.outcome, headers)
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

"""The route of a program's bundle: the specializations that it launches, for Triton's cache.

It is one tar with the same layout as a sweep's bundle.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from compiler.compilation import Compilation
from compiler.derivation import Derivation
from jobs.deadline import Deadline
from programs.service.program_submission import PROGRAMS
from service.compilations.answer import RETRY_AFTER_S, server_timing
from service.compilations.bundle import (
    INSTALL,
    Member,
    Refusal,
    exports,
    member_of,
    size_bytes,
    tar_of,
)
from service.compilations.derivations import DerivationRequest, read_finished
from service.http.openapi import bytes_as, wait_parameter
from service.http.problems import ProblemRaised
from service.http.query import requested_wait
from service.owned_jobs import OVER_STATES
from service.routes.owned_job_routes import SCOPE
from service.state import state_of

router = APIRouter(prefix="/v1/programs", tags=["programs"])
MAX_KERNELS = 1_000


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


async def bundle_of_kernels(
    asked: DerivationRequest, program: Mapping[str, Any]
) -> list[Member] | None:
    """Return the files of the bundle of a finished `program`; None if some are not ready yet.

    Raises ProblemRaised: 422 if nothing can be bundled, 404 and 410 for missing compilations.
    """
    kernels = program["kernels"]
    good = [kernel["compilation_key"] for kernel in kernels if kernel["problem"] is None]
    keys = [key for key in dict.fromkeys(good) if key is not None]
    if len(keys) > MAX_KERNELS:
        detail = f"The program has {len(keys)} compilations; a bundle takes at most {MAX_KERNELS}"
        raise ProblemRaised("not_derivable", detail, limit=MAX_KERNELS)
    compilations = [await read_finished(asked.state, asked.caller, key) for key in keys]
    outcomes = await exports(asked, compilations)
    made = [outcome for outcome in outcomes if outcome is not None]
    if len(made) < len(outcomes):
        return None
    failed = [
        _left_out(kernel["name"], kernel["compilation_key"], kernel["problem"]["detail"])
        for kernel in kernels
        if kernel["problem"] is not None
    ]
    return _members(program, list(zip(compilations, made, strict=True)), failed)


def _left_out(name: str, key: str | None, why: str) -> dict[str, Any]:
    return {"kernel": name, "compilation_key": key, "why": why}


def _members(
    program: Mapping[str, Any],
    exported: Sequence[tuple[Compilation, Derivation | Refusal]],
    left_out: list[dict[str, Any]],
) -> list[Member]:
    entries, tars = [], []
    for compilation, outcome in exported:
        if isinstance(outcome, Refusal):
            left_out.append(_left_out(compilation.kernel or "", compilation.key, outcome.detail))
            continue
        path = f"triton-cache/{compilation.key}.tar"
        tars.append(Member(path, outcome.size_bytes or 0, digest=outcome.digest))
        entries.append(_entry(path, compilation))
    if not tars:
        why = left_out[0]["why"] if left_out else "it launches no kernel"
        raise ProblemRaised("not_derivable", f"Nothing of this program can be bundled: {why}")
    manifest = {"program": program["url"], "entries": entries, "left_out": left_out}
    return [
        member_of("install.py", INSTALL.encode()),
        member_of("bundle.json", orjson.dumps(manifest, option=orjson.OPT_INDENT_2)),
        *tars,
    ]


def _entry(path: str, compilation: Compilation) -> dict[str, Any]:
    return {
        "file": path,
        "kernel": compilation.kernel,
        "target": compilation.target,
        "triton": compilation.toolchain.triton,
    }

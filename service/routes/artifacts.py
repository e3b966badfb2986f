"""Artifacts of a compilation by stage, and blobs by digest: raw bytes with ETags (RFC 9110)."""

from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from compiler.stages import BY_NAME, COMPILED
from compiler.target import Target, parse_target
from service.compilations.retrieval import find_compilation, forget_evicted
from service.http.answer_parts import parts_response
from service.http.middleware import STREAMED
from service.http.openapi import bytes_as, wait_parameter
from service.http.problems import ProblemRaised
from service.http.query import prefers_redirect, requested_wait
from service.http.validators import accepts, is_current, wants_nothing_that_exists
from service.state import ServiceState, state_of

router = APIRouter(prefix="/v1", tags=["artifacts"])


@router.get(
    "/compilations/{key}/artifacts/{stage}",
    summary="Get the bytes of one stage",
    response_class=Response,
    responses=bytes_as(*dict.fromkeys(stage.media_type for stage in COMPILED.values())),
    openapi_extra={"parameters": [wait_parameter()]},
)
async def get_artifact(request: Request, key: str, stage: str) -> Response:
    """Answer the artifact. A 404 names the reason: the stage does not exist, or was not reached."""
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    if stage not in COMPILED:
        known = ", ".join(BY_NAME)
        detail = f"There is no stage {stage!r}; the stages are {known}"
        raise ProblemRaised("no_such_stage", detail)
    wait = requested_wait(request, state.settings.max_wait_s)
    is_gone = request.is_disconnected
    answer = await find_compilation(state, caller, key, wait.seconds, (), is_gone)
    if not answer.is_finished:
        detail = f"The compilation is {answer.state}; ask again, or wait with GET {key}?wait=S"
        raise ProblemRaised("not_finished", detail, headers={"Retry-After": "1"})
    compilation = orjson.loads(answer.record)
    artifact = compilation["artifacts"].get(stage)
    if artifact is None:
        raise _missing_stage(stage, answer.state, parse_target(compilation["target"]))
    headers = {"Cache-Control": "private, no-cache"} | wait.headers
    digest = artifact["digest"]
    response = await blob_response(request, state, digest, COMPILED[stage].media_type, headers)
    if response is None:
        raise await forget_evicted(state, key)
    return response


def _missing_stage(stage: str, state: str, target: Target) -> ProblemRaised:
    if stage not in target.stages:
        known = ", ".join(target.stages)
        return ProblemRaised("no_such_stage", f"{target} has no stage {stage!r}; it has {known}")
    detail = (
        f"The compilation ended before {stage!r} ({state}); read its `problem`, or post it with a "
        "later `stop_after`"
    )
    return ProblemRaised("stage_not_reached", detail)


@router.get(
    "/blobs/{digest}",
    summary="Get immutable bytes by their SHA-256 digest",
    response_class=Response,
    responses=bytes_as("application/octet-stream"),
)
async def get_blob(request: Request, digest: str) -> Response:
    """Answer an artifact by its `sha256:<hex>`, if it belongs to your namespace."""
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    headers = {"Cache-Control": "private, max-age=31536000, immutable"}
    media_type = "application/octet-stream"
    response = None
    if await state.blobs.may_read(digest, caller.namespace):
        response = await blob_response(request, state, digest, media_type, headers)
    if response is None:
        raise ProblemRaised("not_found", f"There is no blob {digest}; it may have been evicted")
    return response


async def blob_response(
    request: Request,
    state: ServiceState,
    digest: str,
    media_type: str,
    headers: dict[str, Any],
) -> Response | None:
    """Return the blob in a coding that the client accepts, None if the blob does not exist.

    A client that prefers it gets the address of a large blob in the bucket instead.
    """
    is_zstd = accepts(request.headers.get("accept-encoding", ""), "zstd")
    etag = f'"{digest}-zstd"' if is_zstd else f'"{digest}"'
    headers = headers | {"ETag": etag, "Vary": "Accept-Encoding"}
    known = request.headers.get("if-none-match", "")
    if is_current(known, etag) or (
        wants_nothing_that_exists(known) and await state.blobs.exists(digest)
    ):
        return Response(status_code=304, headers=headers)
    if state.settings.blobs_redirect and is_zstd and prefers_redirect(request):
        url = await state.blobs.signed_url(digest)
        if url is not None:
            # the bucket checks no digest, so the client must
            sent = {"Location": url, "Tritond-Digest": digest, "Cache-Control": "no-store"}
            return Response(status_code=307, headers=sent | {"Preference-Applied": "redirect"})
    frame = await state.blobs.get_frame(digest)
    data = None if frame is None else await state.blobs.verify(frame, digest)
    if data is None:
        return None
    request.scope.setdefault("state", {})[STREAMED] = True
    if is_zstd:
        headers["Content-Encoding"] = "zstd"
    body = frame if is_zstd and frame is not None else data
    return parts_response([body], headers, media_type=media_type)

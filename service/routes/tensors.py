"""Uploaded tensors: .npy files by digest. A tensor belongs to its caller."""

from collections.abc import Awaitable

from fastapi import APIRouter, Request, Response

from launch.buffers.npy_header import MAX_START_BYTES, NotNpy, read_npy_header
from service.http.body import declared_length, read_bytes, read_parts
from service.http.openapi import bytes_as
from service.http.problems import ProblemRaised
from service.routes.artifacts import blob_response
from service.state import state_of
from store.frames import ArrivingBlob
from store.tensors import TensorQuotaExceeded

router = APIRouter(prefix="/v1/tensors", tags=["launches"])
MEDIA_TYPE = "application/x-npy"
NPY = bytes_as(MEDIA_TYPE)
_UPLOAD = {
    "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
}
"""An .npy file, declared as any bytes: few generated clients send another media type."""
PRIVATE = {"Cache-Control": "private, no-cache"}


@router.put(
    "/{digest}",
    summary="Upload a .npy file",
    status_code=201,
    response_class=Response,
    responses={200: {"description": "It was already stored"}},
    openapi_extra={"requestBody": {"required": True, "content": _UPLOAD}},
)
async def put_tensor(request: Request, digest: str) -> Response:
    """Answer 201 for a new tensor, 200 for one that you already have."""
    state = state_of(request)
    caller = await state.callers.identify(request, "launch")
    start, blob = await _read(request, state.settings.max_tensor_bytes)
    arrived = await blob.finish()
    if digest != arrived:
        raise ProblemRaised(
            "invalid_request", f"The body's digest is {arrived}; PUT it there", parameter="digest"
        )
    try:
        read_npy_header(start, blob.size_bytes)
        is_new = await state.tensors.put(caller.id, digest, blob)
    except NotNpy as error:
        raise ProblemRaised("invalid_request", f"The body is not a .npy file: {error}") from None
    except TensorQuotaExceeded as error:
        raise ProblemRaised("too_large", str(error), limit=error.limit_bytes) from None
    headers = {"ETag": f'"{digest}"', "Location": f"{router.prefix}/{digest}"}
    return Response(status_code=201 if is_new else 200, headers=headers)


@router.get("/{digest}", summary="Get an uploaded tensor", response_class=Response, responses=NPY)
async def get_tensor(request: Request, digest: str) -> Response:
    """Answer the .npy file."""
    state = state_of(request)
    caller = await state.callers.identify(request, "launch")
    response = None
    if await state.tensors.has(caller.id, digest):
        response = await blob_response(request, state, digest, MEDIA_TYPE, PRIVATE)
    if response is None:
        raise ProblemRaised("not_found", f"You have no tensor {digest}")
    return response


@router.delete("/{digest}", summary="Delete an uploaded tensor", status_code=204)
async def delete_tensor(request: Request, digest: str) -> Response:
    """Answer 204, or 404 if you have no such tensor."""
    state = state_of(request)
    caller = await state.callers.identify(request, "launch")
    if not await state.tensors.delete(caller.id, digest):
        raise ProblemRaised("not_found", f"You have no tensor {digest}")
    return Response(status_code=204)


async def _read(request: Request, limit_bytes: int) -> tuple[bytes, ArrivingBlob]:
    """Return the beginning of the body, and the whole body, compressed as it arrives.

    Compression needs the length beforehand, so a body without Content-Length is read first.
    """
    size_bytes = declared_length(request)
    if size_bytes is None:
        body = await read_bytes(request, limit_bytes)
        blob = ArrivingBlob(len(body))
        await blob.add(body)
        return bytes(body[:MAX_START_BYTES]), blob
    start, blob = bytearray(), ArrivingBlob(size_bytes)

    def take(part: bytes) -> Awaitable[None]:
        start.extend(part[: MAX_START_BYTES - len(start)])
        return blob.add(part)

    await read_parts(request, limit_bytes, take)
    return bytes(start), blob

"""Uploaded tensors: .npy files by digest, each its caller's own."""

from fastapi import APIRouter, Request, Response

from launch.buffers.npy_header import NotNpy, read_npy_header
from service.http.body import read_bytes
from service.http.openapi import bytes_as
from service.http.problems import ProblemRaised
from service.routes.artifacts import blob_response
from service.state import state_of
from store.blobs import digest_beside
from store.tensors import TensorQuotaExceeded

router = APIRouter(prefix="/v1/tensors", tags=["launches"])
MEDIA_TYPE = "application/x-npy"
NPY = bytes_as(MEDIA_TYPE)
PRIVATE = {"Cache-Control": "private, no-cache"}


@router.put(
    "/{digest}",
    summary="Upload a .npy file",
    status_code=201,
    response_class=Response,
    responses={200: {"description": "It was there already"}},
    openapi_extra={"requestBody": {"required": True, "content": NPY[200]["content"]}},
)
async def put_tensor(request: Request, digest: str) -> Response:
    """Answer 201 for a new tensor, 200 for one that you have already."""
    state = state_of(request)
    caller = await state.callers.identify(request, "launch")
    data = await read_bytes(request, state.settings.max_tensor_bytes)
    found = await digest_beside(data)
    if digest != found:
        detail = f"The body's digest is {found}; PUT it there"
        raise ProblemRaised("invalid_request", detail, parameter="digest")
    try:
        read_npy_header(data)
        _, is_new = await state.tensors.put(caller.id, data)
    except NotNpy as error:
        raise ProblemRaised("invalid_request", f"The body is no tensor: {error}") from None
    except TensorQuotaExceeded as error:
        raise ProblemRaised("too_large", str(error), limit=error.limit_bytes) from None
    headers = {"ETag": f'"{digest}"', "Location": f"{router.prefix}/{digest}"}
    return Response(status_code=201 if is_new else 200, headers=headers)


@router.get("/{digest}", summary="An uploaded tensor", response_class=Response, responses=NPY)
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
    """Answer 204, or 404 when there was none."""
    state = state_of(request)
    caller = await state.callers.identify(request, "launch")
    if not await state.tensors.delete(caller.id, digest):
        raise ProblemRaised("not_found", f"You have no tensor {digest}")
    return Response(status_code=204)

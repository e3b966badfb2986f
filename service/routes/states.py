"""States of the web page: stored once by their digest, so that a permalink is a key."""

import re

from fastapi import APIRouter, Request, Response

from service.http.body import read_body
from service.http.openapi import body_of
from service.http.problems import ProblemRaised
from service.http.validators import is_current
from service.large_bodies import parsed
from service.page_state import EXAMPLE, PageState
from service.state import state_of
from store.frames import digested

router = APIRouter(prefix="/v1/states", tags=["page"])
KEPT = {"Cache-Control": "private, max-age=31536000, immutable"}
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SHORT = re.compile(r"sha256:(?:[0-9a-f]{32}|[0-9a-f]{16})")
"""The name in a short link: the first digits of a digest; 16 in links of earlier versions."""


@router.put(
    "/{digest}",
    summary="Store a state of the web page",
    status_code=201,
    response_class=Response,
    responses={200: {"description": "It was already stored"}},
    openapi_extra={"requestBody": body_of(PageState, {"a kernel and two panes": EXAMPLE})},
)
async def put_state(request: Request, digest: str) -> Response:
    """Answer 201 for a new state, 200 for one that your namespace already has."""
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    body = await read_body(request, state.settings.max_state_bytes)
    arrived = await digested(body)
    if digest != arrived:
        detail = f"The body's digest is {arrived}; PUT it there"
        raise ProblemRaised("invalid_request", detail, parameter="digest")
    await parsed(state, body, PageState)
    _, is_new = await state.page_states.put(caller.namespace, caller.id, body)
    headers = {"ETag": f'"{digest}"', "Location": f"{router.prefix}/{digest}"}
    return Response(status_code=201 if is_new else 200, headers=headers)


@router.get("/{digest}", summary="Get a stored state of the web page", response_model=PageState)
async def get_state(request: Request, digest: str) -> Response:
    """Answer the bytes that were stored; they never change. The first 32 digits are enough."""
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    page_state = None
    if DIGEST.fullmatch(digest) or _SHORT.fullmatch(digest):
        page_state = await state.page_states.get(caller.namespace, digest)
    if page_state is None:
        detail = f"There is no state {digest[:100]}; it was never stored here, or was evicted"
        raise ProblemRaised("not_found", detail)
    headers = KEPT | {"ETag": f'"{digest}"'}
    if is_current(request.headers.get("if-none-match", ""), headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(page_state, headers=headers, media_type="application/json")

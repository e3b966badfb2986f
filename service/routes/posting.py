"""POST of a compilation. Reads the request; `service.compilations.submission` has the policy.

Nearly every request goes this way, so it has a plain route: FastAPI's layers would cost more than a
hit. Its own route documents the path, and its function is what the plain one runs.
"""

import time
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from compiler.compilation import CompilationAnswer
from compiler.request import EXAMPLE, CompileRequest
from service.compilations.answer import answer_response
from service.compilations.submission import CompilePost, answer_request
from service.http.body import read_body
from service.http.openapi import body_of
from service.http.query import check_query, requested_wait
from service.state import state_of

PATH = "/v1/compilations"
_KNOWN = frozenset({"wait"})
WAIT: dict[str, Any] = {
    "name": "wait",
    "in": "query",
    "description": "seconds to wait for the result (also `Prefer: wait=S`)",
    "schema": {"type": "number", "minimum": 0, "default": 0},
}

router = APIRouter(tags=["compilations"])


@router.post(
    PATH,
    summary="Compile a kernel, or get its compilation from the cache",
    responses={200: {"model": CompilationAnswer}, 202: {"model": CompilationAnswer}},
    openapi_extra={
        "requestBody": body_of(CompileRequest, {"vector add": EXAMPLE}),
        "parameters": [WAIT],
    },
)
async def post_compilation(request: Request) -> Response:
    """Answer 200 with a finished compilation (also a failed one), 202 with one under way."""
    started = time.perf_counter()
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    wait = requested_wait(request, state.settings.max_wait_s)
    body = await read_body(request, state.settings.max_body_bytes)
    post = CompilePost(body, caller, request.is_disconnected)
    answer = await answer_request(state, post, wait.seconds)
    return answer_response(answer, started, wait.headers)


class _Endpoint:
    """`post_compilation` as ASGI, to which Starlette adds no layer of its own."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["query_string"]:
            check_query(scope["query_string"], _KNOWN)
        response = await post_compilation(Request(scope, receive))
        await response(scope, receive, send)


plain_route = Route(PATH, _Endpoint(), methods=["POST"], include_in_schema=False)

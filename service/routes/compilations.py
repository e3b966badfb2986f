"""Compilations: POST, GET and DELETE. `service.compilations` decides the answers.

Nearly every request posts a compilation, so POST has a plain ASGI route: FastAPI's layers would
cost more than a hit. A FastAPI route documents the path; the plain route calls its function.
"""

import time
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from compiler.compilation import CompilationAnswer
from compiler.request.compile_request import EXAMPLE, CompileRequest
from compiler.stages import COMPILED
from service.compilations.answer import RenderedAnswer, answer_response, server_timing
from service.compilations.key_differences import KeyDifferences, key_differences
from service.compilations.retrieval import cancelled_record, find_compilation, read_compile_job
from service.compilations.submission import CompilePost, answer_request
from service.http.body import read_body
from service.http.openapi import body_of, wait_parameter
from service.http.problems import ProblemRaised
from service.http.query import check_query, requested_wait
from service.http.validators import Caching, validated
from service.idempotency import HEADER, KeyedPost, idempotency_key
from service.lists.own_list import list_route
from service.lists.summaries import COMPILATIONS
from service.state import ServiceState, state_of
from store.jobs.types import Cancellation

PATH = "/v1/compilations"
_POST_PARAMETERS = frozenset({"wait"})
router = APIRouter(prefix=PATH, tags=["compilations"])
_STAGES = {"pattern": "^(({0})(,({0}))*)?$".format("|".join(COMPILED))}
Include = Annotated[
    Sequence[Annotated[str, Field(json_schema_extra=_STAGES)]],
    Query(description="artifacts to inline, comma-separated or repeated"),
]


@router.post(
    "",
    summary="Compile a kernel, or get its compilation from the cache",
    responses={200: {"model": CompilationAnswer}, 202: {"model": CompilationAnswer}},
    openapi_extra={
        "requestBody": body_of(CompileRequest, {"vector add": EXAMPLE}),
        "parameters": [wait_parameter(), HEADER],
    },
)
async def post_compilation(request: Request) -> Response:
    """Answer 200 with a finished compilation, even a failed one; 202 while it is not."""
    started = time.perf_counter()
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    wait = requested_wait(request, state.settings.max_wait_s)
    body = await read_body(request, state.settings.max_body_bytes)
    post = CompilePost(body, caller, request.is_disconnected)
    key = idempotency_key(request)
    if key is None:  # as nearly always, and one coroutine less
        answer = await answer_request(state, post, wait.seconds)
    else:
        answer = await _answer_once(state, post, wait.seconds, key)
    return answer_response(answer, started, wait.headers)


async def _answer_once(
    state: ServiceState, post: CompilePost, wait_s: float, key: str
) -> RenderedAnswer:
    """Return the answer. Equal bodies are one compilation anyway; a key refuses other bodies."""

    async def make(_: str) -> RenderedAnswer:
        return await answer_request(state, post, wait_s)

    async def find(_: str) -> RenderedAnswer | None:
        return None

    return await KeyedPost(state, post.caller, key, post.body).make(make, find)


class _PlainPost:
    """`post_compilation` as an ASGI application, without Starlette's layers."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = plain_route  # FastAPI's routes set it themselves
        if scope["query_string"]:
            check_query(scope["query_string"], _POST_PARAMETERS, frozenset())
        response = await post_compilation(Request(scope, receive))
        await response(scope, receive, send)


plain_route = Route(PATH, _PlainPost(), methods=["POST"], include_in_schema=False)


list_route(
    router,
    COMPILATIONS,
    ("compile",),
    "Answer the compilations that you posted, alone or in a batch.",
)


@router.get(
    "/{key}",
    summary="Get a compilation by key",
    response_model=CompilationAnswer,
    openapi_extra={"parameters": [wait_parameter()]},
)
async def get_compilation(request: Request, key: str, include: Include = ()) -> Response:
    """Answer 200 in every state. `include` names the artifacts to inline."""
    started = time.perf_counter()
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    wait = requested_wait(request, state.settings.max_wait_s)
    stages = _included_stages(include)
    is_gone = request.is_disconnected
    answer = await find_compilation(state, caller, key, wait.seconds, stages, is_gone)
    headers = {"Server-Timing": server_timing(started)} | wait.headers
    if not answer.is_finished:
        headers["Retry-After"] = "1"
    return await validated(
        request, answer.body, Caching.REVALIDATED, headers
    )  # a refresh changes it


def _included_stages(include: Sequence[str]) -> list[str]:
    stages = [stage for stage in ",".join(include).split(",") if stage]
    for stage in stages:
        if stage not in COMPILED:
            known = ", ".join(COMPILED)
            detail = f"include: there is no stage {stage!r}; the stages are {known}"
            raise ProblemRaised("invalid_request", detail, parameter="include")
    return stages


@router.delete(
    "/{key}",
    summary="Withdraw from a compilation; it stops when all callers withdrew",
    responses={202: {"model": CompilationAnswer}},
    response_model=CompilationAnswer,
)
async def delete_compilation(request: Request, key: str) -> Response:
    """Answer 202, or 200 when it was finished already."""
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    job = await read_compile_job(state, caller, key)
    toolchain = await state.toolchains.find(job.toolchain_id)
    record = cancelled_record(job, toolchain)
    done = await state.jobs.cancel(key, caller.id, record)
    answer = await find_compilation(state, caller, key)
    is_accepted = done in {Cancellation.WITHDRAWN, Cancellation.CANCELLED}
    return Response(
        answer.body, status_code=202 if is_accepted else 200, media_type="application/json"
    )


@router.get("/{key}/request", summary="Get the request of a compilation, with resolved options")
async def get_request(request: Request, key: str) -> dict[str, Any]:
    """Answer the source, specialization, target and resolved options of a compilation."""
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    return (await read_compile_job(state, caller, key)).as_request()


@router.get(
    "/{key}/why",
    summary="Get what made a compilation a miss: the parts of its key that are new",
    response_model=KeyDifferences,
)
async def get_why(request: Request, key: str) -> KeyDifferences:
    """Answer the differences from the nearest among the caller's own newest compilations."""
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    return await key_differences(state, caller, key)

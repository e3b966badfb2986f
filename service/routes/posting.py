"""POST of a compilation: the way of nearly every request, so it has a plain route.

FastAPI's layers would cost more than the hit itself. Its own route documents the path and is what
the plain one, which is put before it, runs.
"""

import time
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from compiler import limits
from compiler.compilation import CompilationAnswer, compilation_url
from compiler.key import KEY_VERSION
from compiler.request import EXAMPLE, CompileRequest
from compiler.resolution import resolve
from service import VERSION
from service.caller import Caller
from service.compilations.answer import Answer, answer_response, server_timing
from service.compilations.cache import AnswerMemory, RememberedAnswer, RequestAlias
from service.compilations.submission import find_or_enqueue
from service.compilations.submit_and_wait import IsGone
from service.http.body import parse_body, read_body
from service.http.openapi import body_of
from service.http.query import check_query, requested_wait
from service.state import ServiceState, state_of
from service.toolchains import Offer

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
    offer = await state.toolchains.offer()
    digest = AnswerMemory.digest(caller.namespace, offer.digest, body)
    if remembered := state.memory.get(digest):
        state.metrics.remembered.inc()
        state.compilations.used(remembered.key)
        return _remembered_response(remembered, started, wait.headers)
    generation = state.invalidations.generation
    answer = await _known_hit(state, digest)
    if answer is None:
        # whoever comes after a refresh or purge must not get what was read before it
        equal = digest, caller.id, generation
        ask = partial(_ask, state, caller, offer, digest, body, request.is_disconnected)
        answer = await state.flights.share(equal, wait.seconds, ask)
    response = answer_response(answer, started, wait.headers)
    is_lasting = answer.cache == "hit" and answer.state == "succeeded"
    if (
        is_lasting
        and state.invalidations.connected
        and generation == state.invalidations.generation
    ):
        location = compilation_url(answer.key)
        state.memory.put(digest, RememberedAnswer(answer.key, bytes(response.body), location))
    if answer.cache is not None:
        state.metrics.compilations.labels(answer.cache).inc()
    return response


async def _known_hit(state: ServiceState, digest: bytes) -> Answer | None:
    meaning = state.meanings.get(digest)
    hit = await state.compilations.hit(meaning.key, meaning.include) if meaning else None
    if meaning is None or hit is None:
        return None
    return Answer(meaning.key, "succeeded", hit.record, "hit", included=hit.included)


async def _ask(
    state: ServiceState,
    caller: Caller,
    offer: Offer,
    digest: bytes,
    body: bytes,
    is_gone: IsGone,
    wait_s: float,
) -> Answer:
    name = f"{VERSION}:{KEY_VERSION}:{digest.hex()}"
    if hit := await state.compilations.meant(name):
        state.meanings.put(digest, RequestAlias(hit.key, tuple(hit.included)))
        return Answer(hit.key, "succeeded", hit.record, "hit", included=hit.included)
    request = parse_body(body, CompileRequest)
    limits.check(request, state.settings.request_limits)
    toolchain = offer.choose(request.triton)
    job = resolve(request, toolchain, caller.namespace)
    answer = await find_or_enqueue(state, job, toolchain, request, caller, wait_s, is_gone)
    if request.refresh:
        state.memory.forget(job.key)  # word of it may come later than the answer
    elif answer.cache == "hit":
        state.meanings.put(digest, RequestAlias(job.key, tuple(request.include)))
        state.compilations.note_meaning(name, job.key, request.include)
    return answer


def _remembered_response(
    remembered: RememberedAnswer, started: float, headers: dict[str, str]
) -> Response:
    own = {
        "Location": remembered.location,
        "Cache-Status": "tritond; hit",
        "Server-Timing": server_timing(started),
    }
    return Response(remembered.body, headers=own | headers, media_type="application/json")


class _Endpoint:
    """`post_compilation` as ASGI, to which Starlette adds no layer of its own."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["query_string"]:
            check_query(scope["query_string"], _KNOWN)
        response = await post_compilation(Request(scope, receive))
        await response(scope, receive, send)


plain_route = Route(PATH, _Endpoint(), methods=["POST"], include_in_schema=False)

"""No JSON answer is longer than any may be, whatever a route has made; stored files may be."""

from __future__ import annotations

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.http.middleware import STREAMED, RequestIdMiddleware
from service.http.traffic import Traffic
from store.byte_limits import MAX_ANSWER_BYTES

LONG = b'"' + b"x" * (MAX_ANSWER_BYTES + (64 << 10)) + b'"'


async def answered(response: Response, *, is_file: bool = False) -> httpx.Response:
    async def route(request: Request) -> Response:
        if is_file:
            request.scope["state"][STREAMED] = True
        return response

    app = RequestIdMiddleware(Starlette(routes=[Route("/", route)]), Traffic())
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://tritond.test") as client:
        return await client.get("/")


@pytest.mark.parametrize("status", [200, 202])
async def test_a_long_answer_is_replaced_by_a_problem(status: int) -> None:
    answer = await answered(Response(LONG, status, media_type="application/json"))

    problem = answer.json()
    assert (answer.status_code, problem["slug"]) == (413, "too_large")
    assert problem["limit"] == MAX_ANSWER_BYTES
    assert "ask for less" in problem["detail"]
    assert len(answer.headers.get_list("x-request-id")) == 1


async def test_an_answer_at_the_limit_is_sent() -> None:
    answer = await answered(Response(LONG[:MAX_ANSWER_BYTES], media_type="application/json"))

    assert answer.status_code == 200
    assert len(answer.content) == MAX_ANSWER_BYTES


async def test_other_bytes_and_stored_files_are_sent() -> None:
    octets = await answered(Response(LONG, media_type="application/octet-stream"))
    stored = await answered(Response(LONG, media_type="application/json"), is_file=True)

    assert len(octets.content) == len(stored.content) == len(LONG)

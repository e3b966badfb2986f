"""X-Request-ID: accepted if well-formed, else generated, always returned."""

import re

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from service.http.middleware import RequestIdMiddleware
from service.http.traffic import Traffic


async def _answer(request: Request) -> PlainTextResponse:
    return PlainTextResponse(request.state.request_id)


async def get(headers: dict[str, str] | None = None) -> httpx.Response:
    app = RequestIdMiddleware(Starlette(routes=[Route("/", _answer)]), Traffic())
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://tritond.test") as client:
        return await client.get("/", headers=headers)


@pytest.mark.parametrize("sent", ["run-7", "0af7651916cd43dd", "a.b_c:d/e+f=", "x" * 128])
async def test_a_sane_id_is_returned(sent: str):
    assert (await get({"X-Request-ID": sent})).headers["x-request-id"] == sent


@pytest.mark.parametrize("sent", ["", "a b", "x" * 129, 'a"b', "<script>", "a,b", "a\tb"])
async def test_another_id_takes_the_place_of_one_that_is_not_sane(sent: str):
    response = await get({"X-Request-ID": sent})

    assert re.fullmatch(r"[0-9a-f]{16}", response.headers["x-request-id"])


async def test_every_request_has_its_own_id():
    assert (await get()).headers["x-request-id"] != (await get()).headers["x-request-id"]


async def test_the_application_knows_the_id():
    response = await get({"X-Request-ID": "run-7"})

    assert response.text == "run-7"


async def test_what_is_not_http_is_left_alone():
    seen = []

    async def application(scope, receive, send):
        seen.append(scope)

    await RequestIdMiddleware(application, Traffic())({"type": "lifespan"}, None, None)

    assert seen == [{"type": "lifespan"}]

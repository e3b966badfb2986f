"""Requests are counted by template, known method and status: a sender makes up no label."""

import httpx
from prometheus_client import CollectorRegistry
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from jobs.work_context import CALLER_ID
from service.http.middleware import HeadMiddleware, RequestIdMiddleware
from service.http.traffic import Traffic


async def _answer(request: Request) -> PlainTextResponse:
    request.scope["state"][CALLER_ID] = "alice"
    return PlainTextResponse("four")


async def counts(traffic: Traffic) -> dict[tuple[str, str, str], float]:
    registry = CollectorRegistry()
    registry.register(traffic)
    return {
        (sample.labels["route"], sample.labels["method"], sample.labels["status"]): sample.value
        for metric in registry.collect()
        for sample in metric.samples
        if sample.name == "tritond_http_request_seconds_count"
    }


async def after(*requests: tuple[str, str]) -> Traffic:
    traffic = Traffic()
    routes = [Route("/things/{name}", _answer, methods=["GET"])]
    app = RequestIdMiddleware(HeadMiddleware(Starlette(routes=routes)), traffic)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://tritond.test") as client:
        for method, path in requests:
            await client.request(method, path)
    return traffic


async def test_requests_are_counted_by_template_method_and_status():
    traffic = await after(("GET", "/things/a"), ("GET", "/things/b"), ("HEAD", "/things/a"))

    assert await counts(traffic) == {
        ("/things/{name}", "GET", "200"): 2,
        ("/things/{name}", "HEAD", "200"): 1,
    }


async def test_hostile_paths_and_methods_make_no_series():
    made_up = [(f"M{n}", f"/things/{n}") for n in range(50)]
    unknown = [("GET", f"/no/{n}%22%7D%0A1") for n in range(50)]

    assert await counts(await after(*made_up, *unknown)) == {
        ("/things/{name}", "other", "405"): 50,
        ("other", "GET", "404"): 50,
    }


async def test_a_caller_has_its_requests_and_bytes_once():
    traffic = await after(("GET", "/things/a"), ("GET", "/no"))
    [(caller, own)] = traffic.take_callers().items()

    assert (caller, own.requests, own.sent_bytes) == ("alice", 1, 4)
    assert traffic.take_callers() == {}

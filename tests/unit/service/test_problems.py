"""Every error of the application as application/problem+json."""

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI
from starlette.requests import ClientDisconnect

from compiler.problem_kinds import PROBLEM_KINDS
from compiler.rejection import FieldError, RequestRejected
from compiler.slug import Slug
from service.http.middleware import RequestIdMiddleware
from service.http.openapi_document import OpenApiDocument
from service.http.problems import ProblemRaised, install_handlers
from service.http.traffic import Traffic
from store.errors import CallerQueueFull, QueueFull, StoreUnavailable

RAISED: dict[str, Exception] = {
    "problem": ProblemRaised("not_found", "There is no compilation ab"),
    "headers": ProblemRaised("not_finished", "ask again", headers={"Retry-After": "1"}),
    "rejected": RequestRejected(
        FieldError("/options/num_warps", "3 is not one of 1, 2"),
        FieldError("", "must be a JSON object"),
    ),
    "no_store": StoreUnavailable("The store does not answer."),
    "queue_full": QueueFull("compile:t", 10),
    "caller_queue_full": CallerQueueFull("compile:t", 5),
    "gone": ClientDisconnect(),
    "mistake": ZeroDivisionError("secret detail"),
}


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI(redirect_slashes=False)
    app.add_middleware(RequestIdMiddleware, traffic=Traffic())
    install_handlers(app)
    app.state.document = OpenApiDocument(app, lambda path: True)

    @app.get("/raise/{name}")
    async def _raise(name: str) -> None:
        raise RAISED[name]

    @app.get("/count")
    async def _count(number: int) -> int:
        return number

    @app.delete("/count")
    async def _forget() -> None:
        return None

    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://tritond.test") as client:
        yield client


async def test_a_problem_has_the_members_of_rfc_9457(client: httpx.AsyncClient):
    response = await client.get("/raise/problem")

    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json() == {
        "type": "urn:tritond:problem:not_found",
        "title": "There is nothing here",
        "status": 404,
        "detail": "There is no compilation ab",
        "instance": "/raise/problem",
        "slug": "not_found",
        "fault": "request",
        "retryable": False,
    }


async def test_headers_of_a_problem_are_sent(client: httpx.AsyncClient):
    response = await client.get("/raise/headers")

    assert (response.status_code, response.headers["retry-after"]) == (409, "1")


async def test_a_rejection_names_every_field(client: httpx.AsyncClient):
    response = await client.get("/raise/rejected")

    assert response.status_code == 422
    assert response.json()["slug"] == "invalid_request"
    assert response.json()["detail"] == (
        "/options/num_warps: 3 is not one of 1, 2; the body: must be a JSON object"
    )
    assert response.json()["errors"] == [
        {"pointer": "/options/num_warps", "message": "3 is not one of 1, 2"},
        {"pointer": "", "message": "must be a JSON object"},
    ]


@pytest.mark.parametrize(
    ("name", "status", "slug"),
    [
        ("no_store", 503, "store_unavailable"),
        ("queue_full", 503, "queue_full"),
        ("caller_queue_full", 429, "too_many_requests"),
    ],
)
async def test_what_passes_says_when_to_come_back(
    client: httpx.AsyncClient, name: str, status: int, slug: str
):
    response = await client.get(f"/raise/{name}")

    assert (response.status_code, response.json()["slug"]) == (status, slug)
    assert int(response.headers["retry-after"]) > 0
    assert response.json()["detail"] == str(RAISED[name])


async def test_a_full_queue_says_its_limit(client: httpx.AsyncClient):
    assert (await client.get("/raise/queue_full")).json()["limit"] == 10


async def test_a_path_that_is_not_there_is_a_problem(client: httpx.AsyncClient):
    response = await client.get("/v1/nothing")

    assert (response.status_code, response.json()["slug"]) == (404, "not_found")
    assert response.json()["detail"] == "GET /v1/nothing: Not Found"


async def test_a_path_with_a_slash_at_its_end_is_not_redirected(client: httpx.AsyncClient):
    response = await client.get("/count/")

    assert response.status_code == 404
    assert response.json()["detail"].endswith("no path here ends with a slash")


async def test_a_method_that_is_not_allowed_is_a_problem(client: httpx.AsyncClient):
    response = await client.post("/count")

    assert (response.status_code, response.json()["slug"]) == (405, "method_not_allowed")
    assert response.headers["allow"] == "GET, HEAD, DELETE"
    assert response.json()["detail"].endswith("; allowed here: GET, HEAD, DELETE")


async def test_a_wrong_query_parameter_is_named(client: httpx.AsyncClient):
    response = await client.get("/count?number=three")

    assert response.status_code == 422
    assert response.json()["slug"] == "invalid_request"
    assert response.json()["parameter"] == "number"


async def test_an_internal_error_names_its_request_but_no_details(
    client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
):
    response = await client.get("/raise/mistake", headers={"X-Request-ID": "run-7"})

    assert (response.status_code, response.json()["slug"]) == (500, "internal_error")
    assert response.headers["x-request-id"] == "run-7"
    assert "secret detail" not in response.text
    assert "GET /raise/mistake: 500 internal_error (request run-7, key none)" in caplog.text
    assert "ZeroDivisionError: secret detail" in caplog.text


async def test_a_client_that_went_away_is_no_mistake(
    client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
):
    assert (await client.get("/raise/gone")).status_code < 500
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("slug", "status"),
    [
        ("invalid_json", 400), ("unauthorized", 401), ("forbidden", 403), ("not_found", 404),
        ("no_such_stage", 404), ("stage_not_reached", 404), ("method_not_allowed", 405),
        ("not_finished", 409), ("evicted", 410), ("too_large", 413),
        ("unsupported_media_type", 415), ("invalid_request", 422), ("too_many_requests", 429),
        ("queue_full", 503), ("store_unavailable", 503),
    ],
)  # fmt: skip
def test_the_statuses_are_those_of_the_contract(slug: str, status: int):
    assert PROBLEM_KINDS[Slug(slug)].status == status


def test_what_passes_has_a_retry_after():
    for kind in PROBLEM_KINDS.values():
        assert (kind.retry_after_s is not None) == (kind.status in {429, 503})


@pytest.mark.parametrize(
    ("name", "level", "line"),
    [
        ("problem", "INFO", "404 not_found (request run-7, key none)"),
        ("no_store", "WARNING", "503 store_unavailable (request run-7, key none): The store does"),
    ],
)
async def test_a_problem_is_logged_with_its_request(
    client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture, name: str, level: str, line: str
):
    caplog.set_level("INFO")
    await client.get(f"/raise/{name}", headers={"X-Request-ID": "run-7"})

    [record] = [each for each in caplog.records if each.name == "service.http.problems"]
    assert record.levelname == level
    assert record.getMessage().startswith(f"GET /raise/{name}: {line}")

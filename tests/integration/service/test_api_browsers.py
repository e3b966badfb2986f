"""Another site's page in the user's browser gets nothing from a service without keys."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.integration.service import bodies
from tests.integration.service.running import Deployment

REBOUND = {"Host": "rebound.example:8000"}
CROSS_SITE = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
SOURCE = bodies.good("vector_add")
ROUTES = [
    ("GET", "/v1/system"),
    ("GET", "/v1/workers"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("GET", "/"),
    ("POST", "/v1/compilations"),
    ("POST", "/v1/batches"),
    ("POST", "/v1/launches/query"),
    ("PUT", "/v1/tensors/sha256:" + "0" * 64),
    ("DELETE", "/v1/tensors/sha256:" + "0" * 64),
    ("OPTIONS", "/v1/compilations"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_name_that_was_rebound_reads_and_does_nothing(
    http: httpx.Client, method: str, path: str
) -> None:
    answer = http.request(method, path, headers=REBOUND, json={})

    assert (answer.status_code, answer.json()["slug"]) == (421, "misdirected")
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_what_another_site_sends_is_refused(http: httpx.Client, method: str, path: str) -> None:
    answer = http.request(method, path, headers=CROSS_SITE, json={})

    assert (answer.status_code, answer.json()["slug"]) == (403, "forbidden")


@pytest.mark.parametrize(
    "path", ["compilations", "launches", "launches/query", "batches", "inspect"]
)
@pytest.mark.parametrize(
    "content_type", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_what_a_page_may_send_without_asking_is_not_read(
    http: httpx.Client, path: str, content_type: str | None
) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}

    answer = http.post(f"/v1/{path}", content=json.dumps(SOURCE).encode(), headers=headers)

    assert (answer.status_code, answer.json()["slug"]) == (415, "unsupported_media_type")
    assert "application/json" in answer.json()["detail"]


def test_no_other_origin_is_allowed_to_ask(http: httpx.Client) -> None:
    asked = {"Origin": "http://127.0.0.1:3000", "Access-Control-Request-Method": "POST"}

    answer = http.options("/v1/compilations", headers=asked)

    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_the_page_of_the_service_itself_works(system: Deployment, http: httpx.Client) -> None:
    as_the_browser_says = {"Origin": system.url, "Sec-Fetch-Site": "same-origin"}

    answer = http.post("/v1/inspect", json={"source": "x = 1"}, headers=as_the_browser_says)

    assert answer.status_code == 200


def test_the_documentation_comes_from_here_alone(http: httpx.Client) -> None:
    for path in ("/docs", "/redoc"):
        answer = http.get(path)

        assert "script-src 'self';" in answer.headers["content-security-policy"]
        assert "://" not in answer.text


def test_with_keys_the_service_answers_under_any_name(
    idle: Deployment, keys: dict[str, str]
) -> None:
    with idle.client(authorization=f"Bearer {keys['alice']}") as http:
        assert http.get("/v1/system", headers=REBOUND).status_code == 200

    with idle.client() as http:
        assert http.get("/v1/system", headers=REBOUND).status_code == 401

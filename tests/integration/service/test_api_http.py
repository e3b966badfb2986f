"""HTTP by its standards: methods, HEAD, queries, preferences, and the OpenAPI document."""

from __future__ import annotations

import socket
from typing import Any

import httpx
import pytest

from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.running import Deployment


@pytest.fixture(scope="module")
def url(post: Post) -> str:
    made: str = post(bodies.good("vector_add")).json()["url"]
    return made


def raw(system: Deployment, request: bytes) -> httpx.Response:
    """Send malformed bytes, and return the answer."""
    host, port = system.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request)
        answer = b""
        while data := connection.recv(65536):
            answer += data
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return httpx.Response(int(status.split()[1]), headers=headers, content=body)


@pytest.mark.parametrize("method", [b"FOO", b"get", b"G3T"])
def test_an_unknown_method_is_a_problem(system: Deployment, method: bytes) -> None:
    answer = raw(system, method + b" /v1/system HTTP/1.1\r\nHost: localhost\r\n\r\n")

    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["slug"]) == (501, "not_implemented")


@pytest.mark.parametrize(
    "request_", [b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"GET / HTTP/9\r\n\r\n"]
)
def test_an_invalid_request_is_a_problem(system: Deployment, request_: bytes) -> None:
    answer = raw(system, request_)

    assert (answer.status_code, answer.json()["slug"]) == (400, "malformed_request")


@pytest.mark.parametrize("method", ["PROPFIND", "TRACE", "PATCH", "OPTIONS"])
def test_a_method_without_a_route_is_not_allowed(http: httpx.Client, method: str) -> None:
    answer = http.request(method, "/v1/system")

    assert (answer.status_code, answer.json()["slug"]) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, HEAD"


def test_a_path_between_others_allows_its_own_methods(http: httpx.Client) -> None:
    assert http.put("/v1/launches/query", json={}).headers["allow"] == "POST"


PATHS = ["/v1/system", "/v1/targets", "/metrics", "/", "/docs", "/openapi.json", "/healthz",
         "/v1/launches/none", "/v1/nothing", "/v1/system?wiat=1"]  # fmt: skip
BELOW = ["", "/request", "/artifacts/ptx", "/artifacts/sass?wait=30", "/lines?wait=30"]


def assert_head_is_like_get(http: httpx.Client, path: str) -> None:
    get, head = http.get(path), http.head(path)

    assert head.status_code == get.status_code
    assert head.content == b""
    assert head.headers["content-type"] == get.headers["content-type"]


@pytest.mark.parametrize("path", PATHS)
def test_head_is_get_without_the_body(http: httpx.Client, path: str) -> None:
    assert_head_is_like_get(http, path)


@pytest.mark.parametrize("below", BELOW)
def test_head_of_a_compilation(http: httpx.Client, url: str, below: str) -> None:
    assert_head_is_like_get(http, url + below)


def test_head_of_a_stream_ends(http: httpx.Client, post: Post) -> None:
    running = post(bodies.running(f"{bodies.ENDLESS}  # headed"), wait=0).json()["url"]

    answer = http.head(running + "/events")
    http.delete(running)

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")


def test_head_where_there_is_no_get(http: httpx.Client) -> None:
    assert http.head("/v1/inspect").status_code == 405


@pytest.mark.parametrize(
    ("method", "path", "parameter"),
    [
        ("POST", "/v1/compilations?wiat=5", "wiat"),
        ("POST", "/v1/compilations?wait=1&wait=2", "wait"),
        ("POST", "/v1/inspect?refresh=true", "refresh"),
        ("POST", "/v1/launches?Wait=5", "Wait"),
        ("POST", "/v1/batches?result=none", "result"),
        ("GET", "/v1/compilations/x?includes=ptx", "includes"),
        ("GET", "/v1/system?verbose", "verbose"),
        ("GET", "/healthz?x=1", "x"),
        ("DELETE", "/v1/compilations/x?wait=1", "wait"),
    ],
)
def test_a_misspelt_parameter_is_refused(
    http: httpx.Client, method: str, path: str, parameter: str
) -> None:
    answer = http.request(method, path, json={} if method == "POST" else None)

    assert (answer.status_code, answer.json()["slug"]) == (422, "invalid_request")
    assert answer.json()["parameter"] == parameter


def test_a_misspelt_parameter_is_guessed(http: httpx.Client) -> None:
    assert "`wait`" in http.post("/v1/inspect?wiat=5", json={}).json()["detail"]


@pytest.mark.parametrize("prefer", ["wait", "wait=soon", "wait=-1", "wait 5"])
def test_a_malformed_preference_is_refused(http: httpx.Client, prefer: str) -> None:
    body: dict[str, Any] = bodies.good("vector_add")

    answer = http.post("/v1/compilations", json=body, headers={"Prefer": prefer})

    assert answer.status_code == 422
    assert answer.json()["parameter"] == "Prefer"

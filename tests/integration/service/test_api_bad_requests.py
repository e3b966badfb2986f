"""Invalid requests get a problem with a pointer, and no job."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.waiting import wait_until

GOOD = bodies.good("vector_add")
JSON = {"Content-Type": "application/json"}


def assert_problem(answer: httpx.Response, status: int, slug: str) -> dict[str, Any]:
    problem: dict[str, Any] = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.status_code == problem["status"] == status, problem
    assert problem["slug"] == slug
    assert problem["type"].endswith(slug)
    assert problem["title"]
    assert problem["detail"]
    assert problem["instance"] == answer.request.url.path
    return problem


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"not json",
        b'{"source": NaN}',
        b'{"source": "\xff"}',
        json.dumps(GOOD).encode("utf-16"),
        b"[" * 100_000,
        b'{"source": "\\ud800"}',
    ],
    ids=["empty", "cut off", "words", "NaN", "not UTF-8", "UTF-16", "deep", "half a surrogate"],
)
def test_a_body_that_is_not_json_is_refused(http: httpx.Client, content: bytes) -> None:
    answer = http.post("/v1/compilations", content=content, headers=JSON)

    assert_problem(answer, 400, "invalid_json")


@pytest.mark.parametrize("content", [b"[]", b"null", b'"source"', b"1"])
def test_a_body_must_be_a_json_object(http: httpx.Client, content: bytes) -> None:
    answer = http.post("/v1/compilations", content=content, headers=JSON)

    problem = assert_problem(answer, 422, "invalid_request")
    assert problem["errors"] == [{"pointer": "", "message": "must be a JSON object"}]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"sorce": "..."}, "/sorce"),
        ({"source": 1}, "/source"),
        ({"source": ""}, "/source"),
        ({"source": "\0"}, "/source"),
        ({"kernel": 1}, "/kernel"),
        ({"target": "sm_x"}, "/target"),
        ({"target": "cuda:13"}, "/target"),
        ({"target": "cuda:90:64"}, "/target"),
        ({"target": None}, "/target"),
        ({"signature": 5, "hints": None}, "/signature"),
        ({"signature": GOOD["signature"] | {"x_ptr": "*float33"}}, "/signature/x_ptr"),
        ({"signature": GOOD["signature"] | {"x_ptr": "*fp32:8"}}, "/signature/x_ptr"),
        ({"signature": GOOD["signature"] | {"a/b": "i32"}}, "/signature/a~1b"),
        ({"hints": {"z_ptr": ["divisible_by_16"]}}, "/hints/z_ptr"),
        ({"hints": {"x_ptr": ["even"]}}, "/hints/x_ptr/0"),
        ({"constexprs": []}, "/constexprs"),
        ({"constexprs": {"BLOCK_SIZE": {"number": 1}}}, "/constexprs/BLOCK_SIZE"),
        ({"constexprs": {"BLOCK_SIZE": 2**70}}, "/constexprs/BLOCK_SIZE"),
        ({"constexprs": {"BLOCK_SIZE": 64, "x_ptr": 1}}, "/constexprs/x_ptr"),
        ({"options": {"num_warp": 4}}, "/options/num_warp"),
        ({"options": {"num_warps": 3}}, "/options/num_warps"),
        ({"options": {"num_warps": "4"}}, "/options/num_warps"),
        ({"options": {"num_warps": True}}, "/options/num_warps"),
        ({"options": {"num_ctas": 2}, "target": "cuda:86"}, "/options/num_ctas"),
        ({"triton": "2.0.0"}, "/triton"),
        ({"stop_after": "sass"}, "/stop_after"),
        ({"stop_after": "hsaco"}, "/stop_after"),
        ({"include": ["ptx"], "stop_after": "ttir"}, "/include/0"),
        ({"include": "ptx"}, "/include"),
        ({"priority": "urgent"}, "/priority"),
        ({"timeout_s": 0}, "/timeout_s"),
        ({"timeout_s": 1e6}, "/timeout_s"),
        ({"refresh": "yes"}, "/refresh"),
        ({"files": {"../up.py": ""}}, "/files/..~1up.py"),
        ({"files": {"user.py": ""}}, "/files/user.py"),
    ],
    ids=str,
)
def test_a_wrong_field_is_named(post: Post, change: dict[str, Any], pointer: str) -> None:
    problem = assert_problem(post(GOOD | change), 422, "invalid_request")

    assert [error["pointer"] for error in problem["errors"]] == [pointer]
    assert len(problem["errors"][0]["message"]) > 10


@pytest.mark.parametrize("name", ["source", "target"])
def test_a_missing_field_is_named(post: Post, name: str) -> None:
    answer = post({field: value for field, value in GOOD.items() if field != name})

    problem = assert_problem(answer, 422, "invalid_request")
    assert [error["pointer"] for error in problem["errors"]] == [f"/{name}"]


def test_all_wrong_fields_are_named_at_once(post: Post) -> None:
    wrong = GOOD | {"target": "sm_x", "hints": {"q": ["even"]}}

    problem = assert_problem(post(wrong), 422, "invalid_request")

    assert {error["pointer"] for error in problem["errors"]} == {"/target", "/hints/q"}


def test_a_misspelt_field_is_guessed(post: Post) -> None:
    problem = post(GOOD | {"constexpr": {"BLOCK_SIZE": 1}}).json()

    assert "`constexprs`" in problem["errors"][0]["message"]


def test_a_body_that_is_too_large(http: httpx.Client) -> None:
    answer = http.post("/v1/compilations", content=b" " * (9 << 20), headers=JSON)

    problem = assert_problem(answer, 413, "too_large")
    assert problem["limit"] == 8 << 20


def test_a_large_body_that_does_not_say_its_size(http: httpx.Client) -> None:
    chunks = (b" " * (64 << 10) for _ in range(160))

    answer = http.post("/v1/compilations", content=chunks, headers=JSON)

    assert_problem(answer, 413, "too_large")


TOO_MUCH = {
    "source": ({"source": "#" * (1 << 20 | 1)}, 413, "too_large", "/source"),
    "files together": ({"files": {"a.py": "#" * (4 << 20 | 1)}}, 413, "too_large", "/files"),
    "constexprs": ({"constexprs": {"X": "x" * (64 << 10)}}, 413, "too_large", "/constexprs"),
    "files": ({"files": {f"a{n}.py": "" for n in range(65)}}, 422, "invalid_request", "/files"),
    "parameters": (
        {"signature": {f"p{n}": "i32" for n in range(257)}},
        422,
        "invalid_request",
        "/signature",
    ),
}


@pytest.mark.parametrize(("change", "status", "slug", "pointer"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_part_beyond_its_limit_is_named(
    post: Post, change: dict[str, Any], status: int, slug: str, pointer: str
) -> None:
    problem = assert_problem(post(GOOD | change), status, slug)

    [error] = problem["errors"]
    assert error["pointer"] == pointer
    assert "the limit is" in error["message"]


def test_another_content_type(http: httpx.Client) -> None:
    answer = http.post("/v1/compilations", content="x=1", headers={"Content-Type": "text/plain"})

    assert_problem(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize("wait", ["abc", "-1", "nan", ""])
def test_a_wait_that_is_no_number_of_seconds(http: httpx.Client, wait: str) -> None:
    answer = http.post("/v1/compilations", params={"wait": wait}, json=GOOD)

    assert assert_problem(answer, 422, "invalid_request")["parameter"] == "wait"


def test_a_wrong_method(http: httpx.Client) -> None:
    answer = http.put("/v1/compilations", json=GOOD)

    assert_problem(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize(
    "path", ["/v2/compilations", "/v1/compilation", "/v1/compilations/abc", "/v1/compilations/%00"]
)
def test_an_unknown_path(http: httpx.Client, path: str) -> None:
    assert_problem(http.get(path), 404, "not_found")


def test_no_worker_is_bothered(post: Post, http: httpx.Client) -> None:
    """A request's key is its job's, so an equal valid request's job would be joined or hit."""

    def queues() -> list[int]:
        return list(http.get("/v1/system").json()["queues"].values())

    wait_until(lambda: not any(queues()), "what other tests left is done")
    misses = 'tritond_compilations_total{cache="miss"}'
    before = [line for line in http.get("/metrics").text.splitlines() if line.startswith(misses)]

    post(GOOD | {"target": "sm_x"})
    http.post("/v1/compilations", content=b"{", headers=JSON)

    after = [line for line in http.get("/metrics").text.splitlines() if line.startswith(misses)]
    assert after == before
    assert not any(queues())

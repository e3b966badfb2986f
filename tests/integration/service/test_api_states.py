"""Permalinks of the page: the service checks a state and stores it under its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from service.page_state import EXAMPLE


def put(http: httpx.Client, state: Any, digest: str | None = None) -> httpx.Response:
    body = state if isinstance(state, bytes) else json.dumps(state).encode()
    name = digest or "sha256:" + hashlib.sha256(body).hexdigest()
    headers = {"Content-Type": "application/json"}
    return http.put(f"/v1/states/{name}", content=body, headers=headers)


def changed(**request: Any) -> dict[str, Any]:
    return EXAMPLE | {"request": EXAMPLE["request"] | request}


def test_a_state_is_stored_once_and_comes_back_as_it_was(http: httpx.Client) -> None:
    state = changed(source="# übrigens\n")

    first, second = put(http, state), put(http, state)

    assert (first.status_code, second.status_code) == (201, 200)
    answer = http.get(first.headers["location"])
    assert answer.json() == state
    assert "immutable" in answer.headers["cache-control"]
    again = http.get(first.headers["location"], headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    ("state", "pointer"),
    [
        (EXAMPLE | {"more": 1}, "/more"),
        (EXAMPLE | {"version": 2}, "/version"),
        (EXAMPLE | {"panes": ["ttir"] * 25}, "/panes"),
        (EXAMPLE | {"panes": ["<script>"]}, "/panes/0"),
        (changed(source=None), "/request/source"),
        (changed(constexprs={"N": 64}), "/request/constexprs/N"),
        (changed(language="c"), "/request/language"),
        ({name: value for name, value in EXAMPLE.items() if name != "panes"}, "/panes"),
        ([], ""),
    ],
)
def test_an_invalid_state_is_refused_with_its_pointer(
    http: httpx.Client, state: Any, pointer: str
) -> None:
    answer = put(http, state)

    assert (answer.status_code, answer.json()["slug"]) == (422, "invalid_request")
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_a_body_of_another_digest_is_refused(http: httpx.Client) -> None:
    answer = put(http, EXAMPLE, "sha256:" + "0" * 64)

    assert (answer.status_code, answer.json()["parameter"]) == (422, "digest")


def test_invalid_or_too_large_json_is_refused(http: httpx.Client) -> None:
    assert put(http, b"{").status_code == 400
    assert put(http, changed(source="x" * (2 << 20))).status_code == 413


@pytest.mark.parametrize("digest", ["sha256:" + "0" * 64, "nothing", "sha256:x", "team:sha256:0"])
def test_an_unknown_state_is_not_found(http: httpx.Client, digest: str) -> None:
    answer = http.get(f"/v1/states/{digest}")

    assert (answer.status_code, answer.json()["slug"]) == (404, "not_found")


def test_a_state_is_its_namespace_s(teams: Callable[[str], httpx.Client]) -> None:
    stored = put(teams("alice"), EXAMPLE)
    assert stored.status_code == 201
    path = stored.headers["location"]

    assert teams("bob").get(path).json() == EXAMPLE
    assert teams("eve").get(path).status_code == 404


def test_without_the_scope_nothing_is_kept(callers: dict[str, httpx.Client]) -> None:
    assert put(callers["runner"], EXAMPLE).status_code == 403


def test_names_of_the_language_are_those_of_the_triton_that_compiles(http: httpx.Client) -> None:
    answer = http.get("/v1/language").json()
    names = {name["name"]: name for name in answer["names"]}

    assert answer["triton"] == "3.9.0"
    assert names["arange"]["signature"] == "(start, end)"
    assert names["load"]["signature"].startswith("(pointer, mask=None, other=None")
    assert names["cdiv"]["signature"] == "(x, div)", "a jit function"
    assert names["float16"]["signature"] is None
    assert "core" not in names, "a module"
    assert not [name for name in names.values() if "_semantic" in (name["signature"] or "")]
    assert http.get("/v1/language?triton=9.9.9").status_code == 422

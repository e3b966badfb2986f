"""SASS is an artifact made on demand."""

from __future__ import annotations

import re

import httpx
import pytest

from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.derived.compiled import compiled, get, line_of


def test_sass_is_the_machine_code_in_words(http: httpx.Client, post: Post) -> None:
    compilation = compiled(post, "vector_add")

    answer = get(http, compilation, "artifacts/sass")

    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/x-sass")
    assert ".text.add_kernel:" in answer.text
    assert "FADD" in answer.text


def test_a_load_stands_under_its_own_line(http: httpx.Client, post: Post) -> None:
    compilation = compiled(post, "vector_add")
    source = bodies.good("vector_add")["source"]

    sass = get(http, compilation, "artifacts/sass").text

    line, lines = None, []
    for text in sass.splitlines():
        if said := re.search(r'//## File "/kernel/user.py", line (\d+)', text):
            line = int(said[1])
        elif "LDG" in text:
            lines.append(line)
    loads = {line_of(source, "tl.load(x_ptr"), line_of(source, "tl.load(y_ptr")}
    assert set(lines) == loads


def test_the_second_request_is_answered_from_the_cache(http: httpx.Client, post: Post) -> None:
    compilation = compiled(post, "vector_add")
    first = get(http, compilation, "artifacts/sass")

    second = get(http, compilation, "artifacts/sass", wait=0)

    assert second.headers["cache-status"] == "tritond; hit"
    assert second.content == first.content
    known = http.get(
        f"{compilation['url']}/artifacts/sass", headers={"If-None-Match": second.headers["etag"]}
    )
    assert known.status_code == 304


def test_a_client_that_does_not_wait_is_asked_to_come_back(http: httpx.Client, post: Post) -> None:
    compilation = post(bodies.vector_add("disassembled without waiting")).json()

    answer = get(http, compilation, "artifacts/sass", wait=0)

    assert answer.status_code == 202
    assert answer.json()["state"] in {"queued", "running"}
    assert answer.headers["location"] == f"{compilation['url']}/artifacts/sass"
    assert int(answer.headers["retry-after"]) >= 1
    assert get(http, compilation, "artifacts/sass").status_code == 200


def test_without_a_cubin_there_is_no_sass(http: httpx.Client, post: Post) -> None:
    compilation = compiled(post, "vector_add", stop_after="ptx")

    answer = get(http, compilation, "artifacts/sass")

    assert (answer.status_code, answer.json()["slug"]) == (404, "stage_not_reached")


def test_a_gpu_that_the_disassembler_has_forgotten(http: httpx.Client, post: Post) -> None:
    compilation = compiled(post, "vector_add", target="cuda:70")

    answer = get(http, compilation, "artifacts/sass")
    lines = get(http, compilation, "lines").json()["lines"]

    assert (answer.status_code, answer.json()["slug"]) == (422, "not_derivable")
    assert "no longer disassembles SM70" in answer.json()["detail"]
    assert any(row["ptx"] for row in lines)
    assert not any(row["sass"] for row in lines)


@pytest.mark.parametrize("path", ["artifacts/sass", "lines", "instructions", "passes", "exports/c"])
def test_of_an_unknown_compilation(http: httpx.Client, path: str) -> None:
    answer = http.get(f"/v1/compilations/{'0' * 64}/{path}")

    assert (answer.status_code, answer.json()["slug"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["artifacts/sass", "lines", "instructions", "passes", "exports/c"])
def test_of_a_compilation_that_is_under_way(http: httpx.Client, post: Post, path: str) -> None:
    slow = bodies.running(bodies.ENDLESS)
    slow["source"] += f"\n# {path}\n"
    key = post(slow, wait=0).json()["key"]

    answer = http.get(f"/v1/compilations/{key}/{path}")

    assert (answer.status_code, answer.json()["slug"]) == (409, "not_finished")
    assert http.delete(f"/v1/compilations/{key}").status_code == 202

"""Diffs of two compilations, ignoring names and locations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.cases import slow_except
from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.derived.compiled import compiled, line_of


def diff_of(
    http: httpx.Client, a: dict[str, Any], b: dict[str, Any], **query: Any
) -> dict[str, Any]:
    answer = ask(http, a, b, **query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def ask(http: httpx.Client, a: dict[str, Any], b: dict[str, Any], **query: Any) -> httpx.Response:
    return http.get(f"{a['url']}/diff/{b['key']}", params={"wait": 60, **query})


def stage_of(found: dict[str, Any], name: str) -> dict[str, Any]:
    (stage,) = [stage for stage in found["stages"] if stage["stage"] == name]
    return stage


@pytest.mark.parametrize("target", slow_except(["cuda:90"], ["cuda:90", "hip:gfx942"]))
def test_a_comment_and_other_names_are_no_difference(
    http: httpx.Client, post: Post, target: str
) -> None:
    source = bodies.good("matmul")["source"]
    changed = "# a comment\n" + source.replace("offs_am", "rows_of_a")
    assert changed.count("rows_of_a") > 1
    a = compiled(post, "matmul", target=target)
    b = compiled(post, "matmul", target=target, source=changed)
    assert a["key"] != b["key"]

    found = diff_of(http, a, b)

    assert found["same"] is True
    assert [stage for stage in found["stages"] if not stage["same"]] == []
    assert found["instructions"]["delta"] == {"total": 0, "by_class": {}, "by_opcode": {}}
    assert found["instructions"]["by_line"] == []


def test_more_warps_are_an_option_and_what_came_of_it(http: httpx.Client, post: Post) -> None:
    a = compiled(post, "vector_add")
    b = compiled(post, "vector_add", options={"num_warps": 8})

    found = diff_of(http, a, b)

    assert found["same"] is False
    assert found["options"] == {"num_warps": {"a": 4, "b": 8}}
    assert found["resources"]["threads"] == {"a": 128, "b": 256}
    assert stage_of(found, "ttir") == {
        "stage": "ttir",
        "same": True,
        "only_in": None,
        "added": 0,
        "removed": 0,
        "registers_differ": False,
        "diff": None,
        "truncated": False,
    }
    ttgir = stage_of(found, "ttgir")["diff"]
    assert '-module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4' in ttgir
    assert '+module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8' in ttgir
    assert "-.reqntid 128\n+.reqntid 256\n" in stage_of(found, "ptx")["diff"]


def test_instructions_are_reported_at_the_lines_that_have_more_of_them(
    http: httpx.Client, post: Post
) -> None:
    source = bodies.good("vector_add")["source"]
    changed = "# moves all lines\n" + source.replace(", x + y,", ", tl.exp(x) + y,")
    assert changed.count("tl.exp(x)") == 1
    a = compiled(post, "vector_add")
    b = compiled(post, "vector_add", source=changed)

    found = diff_of(http, a, b)["instructions"]

    assert found["delta"]["by_class"]["special"] > 0
    assert found["b"]["total"] - found["a"]["total"] == found["delta"]["total"]
    worst = found["by_line"][0]
    before, after = line_of(source, ", x + y,"), line_of(changed, "tl.exp(x)")
    assert (worst["file"], worst["a_line"], worst["b_line"]) == ("user.py", before, after)
    assert worst["delta"]["by_class"]["special"] == found["delta"]["by_class"]["special"]


def test_a_constant_that_changed_is_what_shows(http: httpx.Client, post: Post) -> None:
    source = bodies.good("vector_add")["source"]
    a, b = (
        compiled(post, "vector_add", source=source.replace("x + y", f"x + y * {factor}"))
        for factor in ("3.0", "5.0")
    )

    found = diff_of(http, a, b, stages="ttir,ptx")

    assert [stage["stage"] for stage in found["stages"]] == ["ttir", "ptx"]
    assert (stage_of(found, "ttir")["added"], stage_of(found, "ttir")["removed"]) == (1, 1)
    changed = [line for line in stage_of(found, "ptx")["diff"].splitlines()[2:] if line[0] in "+-"]
    assert all("fma.rn.f32" in line for line in changed)
    assert {line.count("0f40400000") + line.count("0f40A00000") for line in changed} == {1}


def test_what_only_one_of_them_has_is_reported(http: httpx.Client, post: Post) -> None:
    a, b = compiled(post, "vector_add"), compiled(post, "vector_add", target="hip:gfx942")

    found = diff_of(http, a, b)

    assert found["target"] == {"a": "cuda:90", "b": "hip:gfx942"}
    only = {stage["stage"]: stage["only_in"] for stage in found["stages"]}
    assert only == {
        "source": None, "ttir": None, "ttgir": None, "llir": None,
        "ptx": "a", "sass": "a", "amdgcn": "b",
    }  # fmt: skip
    assert stage_of(found, "ptx")["removed"] > 10
    assert stage_of(found, "ptx")["diff"] is None
    assert found["instructions"]["b"]["total"] > 0


def test_of_failures_what_they_reached_is_compared(http: httpx.Client, post: Post) -> None:
    failed = post(bodies.broken("ptxas_error")).json()
    made = compiled(post, "vector_add")

    found = diff_of(http, failed, made)

    assert found["state"] == {"a": "failed", "b": "succeeded"}
    assert found["problem"]["a"] == failed["problem"]["slug"]
    assert found["same"] is False
    assert stage_of(found, "ptx")["only_in"] is None
    assert stage_of(found, "sass")["only_in"] == "b"
    assert found["instructions"]["a"] is None


def test_with_itself_nothing_differs(http: httpx.Client, post: Post) -> None:
    made = compiled(post, "helpers")

    found = diff_of(http, made, made)

    assert found["same"] is True
    assert found["options"] == found["parameters"] == found["toolchain"] == {}
    assert not any(stage["added"] or stage["removed"] for stage in found["stages"])


def test_a_diff_is_kept_and_has_a_tag(http: httpx.Client, post: Post) -> None:
    a = post(bodies.vector_add("of the kept diff")).json()
    b = compiled(post, "vector_add", options={"num_warps": 1})

    first, again = ask(http, a, b), ask(http, a, b)

    assert first.headers["cache-status"].startswith("tritond; fwd=")
    assert again.headers["cache-status"].startswith("tritond; hit")
    tag = {"if-none-match": first.headers["etag"]}
    assert http.get(f"{a['url']}/diff/{b['key']}", headers=tag).status_code == 304
    assert ask(http, b, a).json()["options"] == {"num_warps": {"a": 1, "b": 4}}


def test_without_waiting_it_is_under_way(http: httpx.Client, post: Post) -> None:
    a = post(bodies.vector_add("compared without waiting")).json()
    b = post(bodies.vector_add("as well", options={"num_warps": 2})).json()

    answer = ask(http, a, b, wait=0)

    assert answer.status_code == 202
    assert answer.headers["location"] == f"{a['url']}/diff/{b['key']}"
    assert ask(http, a, b).status_code == 200


@pytest.mark.parametrize(
    ("stages", "status", "slug"),
    [
        ("ptx,frob", 422, "invalid_request"),
        ("cubin", 422, "invalid_request"),
        ("amdgcn", 404, "no_such_stage"),
    ],
)
def test_stages_that_cannot_be_compared(
    http: httpx.Client, post: Post, stages: str, status: int, slug: str
) -> None:
    made = compiled(post, "vector_add")

    answer = ask(http, made, made, stages=stages)

    assert (answer.status_code, answer.json()["slug"]) == (status, slug)


def test_a_stage_that_neither_reached(http: httpx.Client, post: Post) -> None:
    made = compiled(post, "vector_add", stop_after="ttir")

    answer = ask(http, made, made, stages="ptx")

    assert (answer.status_code, answer.json()["slug"]) == (404, "stage_not_reached")


def test_of_what_is_unknown_or_under_way(http: httpx.Client, post: Post) -> None:
    made = compiled(post, "vector_add")
    slow = post(bodies.running(f"{bodies.ENDLESS}  # compared"), wait=0).json()
    missing = {"url": f"/v1/compilations/{'0' * 64}", "key": "0" * 64}

    for a, b in ((made, slow), (slow, made)):
        answer = ask(http, a, b)
        assert (answer.status_code, answer.json()["slug"]) == (409, "not_finished")
        assert slow["key"] in answer.json()["detail"]
    for a, b in ((made, missing), (missing, made)):
        answer = ask(http, a, b)
        assert (answer.status_code, answer.json()["slug"]) == (404, "not_found")
    http.delete(slow["url"])


def test_another_caller_s_compilation_compares_as_missing(
    teams: Callable[[str], httpx.Client],
) -> None:
    theirs, others = teams("alice"), teams("eve")
    a, b = (
        client.post("/v1/compilations", params={"wait": 60}, json=bodies.good("vector_add")).json()
        for client in (theirs, others)
    )

    for first, second in ((a, b), (b, a)):
        answer = ask(theirs, first, second)
        assert (answer.status_code, answer.json()["slug"]) == (404, "not_found")

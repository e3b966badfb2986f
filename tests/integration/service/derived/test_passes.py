"""The module after each compiler pass."""

from __future__ import annotations

import itertools
from typing import Any

import httpx
import pytest

from tests.cases import slow_except
from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.derived.compiled import compiled, get

STAGES = ("ttir", "ttgir", "llir")


def passes_of(http: httpx.Client, compilation: dict[str, Any]) -> list[dict[str, Any]]:
    answer = get(http, compilation, "passes")
    assert answer.status_code == 200, answer.text
    passes: list[dict[str, Any]] = answer.json()["passes"]
    return passes


@pytest.mark.parametrize("name", slow_except(["vector_add"], ["vector_add", "matmul", "loops"]))
def test_the_last_change_of_a_stage_is_its_artifact(
    http: httpx.Client, post: Post, name: str
) -> None:
    compilation = compiled(post, name)

    passes = passes_of(http, compilation)

    for stage in STAGES:
        artifact = http.get(f"{compilation['url']}/artifacts/{stage}").text
        last = [step for step in passes if step["stage"] == stage and step["changed"]][-1]
        assert last["after"] == artifact.strip("\n")


def test_every_pass_takes_up_what_the_one_before_left(http: httpx.Client, post: Post) -> None:
    compilation = compiled(post, "matmul")

    changes = [step for step in passes_of(http, compilation) if step["changed"]]

    source = http.get(f"{compilation['url']}/artifacts/source").text
    assert changes[0]["before"] == source.strip("\n")
    for step, following in itertools.pairwise(changes):
        assert following["before"] == step["after"]


def test_passes_are_named_as_mlir_names_them(http: httpx.Client, post: Post) -> None:
    passes = passes_of(http, compiled(post, "vector_add"))

    names = [(step["stage"], step["name"]) for step in passes]
    assert ("ttir", "triton-combine") in names
    assert ("ttgir", "tritongpu-coalesce") in names
    assert names[-1] == ("llir", "llvm-optimize")


def test_bodies_only_where_something_changed(http: httpx.Client, post: Post) -> None:
    passes = passes_of(http, compiled(post, "vector_add"))

    assert any(not step["changed"] for step in passes)
    for step in passes:
        assert (step["before"] is not None) == step["changed"]
        assert (step["after"] is not None) == step["changed"]


def test_passes_end_where_the_compilation_ended(http: httpx.Client, post: Post) -> None:
    passes = passes_of(http, compiled(post, "vector_add", stop_after="ttir"))

    assert {step["stage"] for step in passes} == {"ttir"}


def test_a_pass_that_fails_is_the_last(http: httpx.Client, post: Post) -> None:
    failed = post(bodies.broken("ptxas_error")).json()

    answer = get(http, failed, "passes").json()

    assert answer["passes"][-1]["stage"] == "llir"
    assert answer["error"] is None


def test_passes_of_posted_ir(http: httpx.Client, post: Post) -> None:
    source = compiled(post, "vector_add", stop_after="ttir")
    text = http.get(f"{source['url']}/artifacts/ttir").text
    posted = post({"ir": {"language": "ttir", "text": text}, "target": "cuda:90"}).json()
    assert posted["state"] == "succeeded", posted["problem"]

    passes = passes_of(http, posted)

    assert passes[0]["stage"] == "ttgir"
    artifact = http.get(f"{posted['url']}/artifacts/llir").text
    assert passes[-1]["after"] == artifact.strip("\n")


def test_passes_for_amd(http: httpx.Client, post: Post) -> None:
    compilation = compiled(post, "vector_add", target="hip:gfx942")

    passes = passes_of(http, compilation)

    artifact = http.get(f"{compilation['url']}/artifacts/llir").text
    assert [step for step in passes if step["changed"]][-1]["after"] == artifact.strip("\n")

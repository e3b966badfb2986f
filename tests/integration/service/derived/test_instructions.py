"""The instruction mix of real kernels, by class and source line."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.cases import slow_except
from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.derived.compiled import compiled, get, line_of

MULTIPLIES = {"cuda:80": "HMMA", "cuda:90": "HGMMA", "cuda:100": "UTCHMMA", "hip:gfx942": "v_mfma"}


def mix_of(http: httpx.Client, compilation: dict[str, Any]) -> dict[str, Any]:
    answer = get(http, compilation, "instructions")
    assert answer.status_code == 200, answer.text
    mix: dict[str, Any] = answer.json()
    return mix


@pytest.mark.parametrize("target", slow_except(["cuda:90", "hip:gfx942"], MULTIPLIES))
def test_a_matmul_is_made_of_known_instructions_and_multiplies_in_its_dot(
    http: httpx.Client, post: Post, target: str
) -> None:
    mix = mix_of(http, compiled(post, "matmul", target=target))

    rows = {row["line"]: row["by_class"] for row in mix["by_line"] if row["file"] == "user.py"}
    dot = line_of(bodies.good("matmul")["source"], "tl.dot(a, b")
    assert rows[dot]["tensor"] == mix["by_class"]["tensor"] > 0
    assert any(opcode.startswith(MULTIPLIES[target]) for opcode in mix["by_opcode"])
    assert mix["by_class"]["other"] == 0
    assert sum(mix["by_class"].values()) == sum(mix["by_opcode"].values()) == mix["total"]
    assert sum(row["total"] for row in mix["by_line"]) == mix["total"]
    assert mix["code_bytes"] > 4 * mix["total"] - 1


def test_loads_and_stores_stand_at_their_lines(http: httpx.Client, post: Post) -> None:
    mix = mix_of(http, compiled(post, "vector_add"))

    rows = {row["line"]: row["by_class"] for row in mix["by_line"]}
    source = bodies.good("vector_add")["source"]
    assert rows[line_of(source, "tl.load(x_ptr")]["global_load"] > 0
    assert rows[line_of(source, "tl.store(")]["global_store"] > 0
    assert mix["by_class"]["global_store"] == rows[line_of(source, "tl.store(")]["global_store"]


def test_it_is_kept_and_so_is_the_sass_that_was_made_for_it(http: httpx.Client, post: Post) -> None:
    compilation = post(bodies.vector_add("counted once")).json()
    first = get(http, compilation, "instructions")
    again = get(http, compilation, "instructions")
    sass = get(http, compilation, "artifacts/sass")

    assert first.headers["cache-status"].startswith("tritond; fwd=")
    assert again.headers["cache-status"].startswith("tritond; hit")
    assert sass.headers["cache-status"].startswith("tritond; hit")
    assert again.content == first.content
    unchanged = http.get(
        f"{compilation['url']}/instructions", headers={"if-none-match": first.headers["etag"]}
    )
    assert unchanged.status_code == 304


def test_what_was_not_compiled_to_the_end_has_no_instructions(
    http: httpx.Client, post: Post
) -> None:
    answer = get(http, compiled(post, "vector_add", stop_after="ptx"), "instructions")

    assert (answer.status_code, answer.json()["slug"]) == (404, "stage_not_reached")


def test_of_a_gpu_that_the_disassembler_has_forgotten_they_cannot_be_counted(
    http: httpx.Client, post: Post
) -> None:
    answer = get(http, compiled(post, "vector_add", target="cuda:70"), "instructions")

    assert (answer.status_code, answer.json()["slug"]) == (422, "not_derivable")

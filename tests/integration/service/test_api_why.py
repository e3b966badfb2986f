"""`GET /v1/compilations/{key}/why`: the parts of a key that made a miss."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from tritonc.cli.main import main

from compiler.key import compile_key
from service.compilations import key_differences
from tests.integration.service import bodies
from tests.integration.service.conftest import Post

QUICK = {"stop_after": "ttir"}


def why(http: httpx.Client, key: str) -> dict[str, Any]:
    answer = http.get(f"/v1/compilations/{key}/why")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_miss_names_the_constexpr_that_is_new(http: httpx.Client, post: Post) -> None:
    body = bodies.vector_add("why once more", **QUICK)
    first = post(body).json()["key"]
    second = post(body | {"constexprs": {"BLOCK_SIZE": 512}}).json()["key"]

    found = why(http, second)

    assert found["nearest"] == first
    assert found["differs"] == [
        {"part": "constexprs.BLOCK_SIZE", "value": "512", "nearest": "1024"}
    ]
    assert found["message"] == f"It differs from {first} in constexprs.BLOCK_SIZE."


def test_a_text_is_shown_at_its_first_other_line(http: httpx.Client, post: Post) -> None:
    body = bodies.vector_add("why in a text", **QUICK)
    first = post(body).json()["key"]
    second = post(body | {"source": body["source"].replace("x + y", "x - y")}).json()["key"]

    [difference] = why(http, second)["differs"]

    assert difference["part"] == "source"
    assert "x - y" in difference["value"]
    assert "x + y" in difference["nearest"]
    assert why(http, first)["nearest"] == second


def test_keys_of_others_are_neither_answered_nor_compared(
    teams: Callable[[str], httpx.Client],
) -> None:
    posted = {"params": {"wait": 60}, "json": bodies.vector_add("why for one", **QUICK)}
    key = teams("alice").post("/v1/compilations", **posted).json()["key"]

    assert teams("eve").get(f"/v1/compilations/{key}/why").status_code == 404
    assert "/why" not in teams("eve").get("/v1/compilations").text
    assert teams("alice").get("/v1/compilations/0123/why").status_code == 404


def test_tritonc_prints_what_made_a_miss(
    http: httpx.Client, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "add.py"
    file.write_text(bodies.vector_add("why on the command line")["source"])
    url = ["--url", str(http.base_url)]
    flags = [str(file), "--target", "cuda:90", "--stop-after", "ttir", "--why"]
    main([*url, "compile", *flags, "--constexpr", "BLOCK_SIZE=64"])
    main([*url, "compile", *flags, "--constexpr", "BLOCK_SIZE=128"])

    assert "  constexprs.BLOCK_SIZE: 128 here, 64 in the nearest" in capsys.readouterr().err


def test_every_input_of_a_key_is_compared() -> None:
    inputs = set(inspect.signature(compile_key).parameters)
    names = {"specialization_json": "specialization", "target_name": "target"}
    names |= {"toolchain_id": "toolchain"}
    text = inspect.getsource(key_differences.key_parts)
    assert [one for one in inputs - {"namespace"} if names.get(one, one) not in text] == []

"""Kernels that do not compile: the cause, its line, a remedy, and what is cached."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.compiler.kernels import KERNELS, read
from tests.integration.service import bodies
from tests.integration.service.bodies import HEADER, broken, good
from tests.integration.service.conftest import Post

NO_SIZE = good("vector_add", constexprs={})
TOO_MUCH = good("vector_add", constexprs={"BLOCK_SIZE": 64, "block": 64})
TOO_MANY = good("vector_add", hints=None, constexprs=None) | {"signature": "*fp32," * 5 + "i32"}
BAD_SHAPE = {
    "source": f"{HEADER}\n@triton.jit\ndef zero(x, n):\n    tl.store(x + tl.arange(0, n), 0)\n",
    "signature": {"x": "*fp32", "n": "i32"},
    "target": "cuda:90",
}


@pytest.mark.parametrize(
    "name",
    [
        "colon_missing",
        "unknown_name",
        "error_in_helper",
        "arange_not_constexpr",
        "jit_missing",
        "two_kernels",
        "lowering_fails",
        "llvm_abort",
        "ptxas_error",
        "file_missing",
        "host_library",
    ],
)
def test_a_broken_kernel_is_explained_at_its_line(post: Post, name: str) -> None:
    """The header of tests/kernels/broken/<name>.py has the expected result."""
    kernel = read(KERNELS / "broken" / f"{name}.py")
    expected = kernel.expected

    failed = post(broken(name)).json()

    assert failed["state"] == "failed"
    assert failed["problem"]["slug"] == expected["slug"]
    error = failed["diagnostics"][0]
    assert failed["problem"]["line"] == error["line"]
    assert error["severity"] == "error"
    assert str(error["line"] or "none") == expected["line"]
    if error["line"] is not None:
        shown, carets = error["excerpt"].split("\n")
        assert shown == kernel.text.split("\n")[error["line"] - 1]
        assert carets.strip(" ^") == ""
        assert carets.index("^") == error["column"] - 1
    if expected["hint"].lower() != "none":
        assert expected["hint"] in error["hint"]


@pytest.mark.parametrize(
    ("body", "slug", "words"),
    [
        (good("vector_add", kernel="add_kernal"), "unknown_kernel", ["add_kernal", "add_kernel"]),
        (NO_SIZE, "missing_constexpr", ["BLOCK_SIZE", "constexprs"]),
        (TOO_MUCH, "extra_argument", ["block", "BLOCK_SIZE"]),
        (TOO_MANY, "extra_argument", ["6", "5"]),
        (BAD_SHAPE, "compile_error", ["constexpr"]),
    ],
    ids=["unknown kernel", "missing constexpr", "extra argument", "too many", "bad shape"],
)
def test_what_only_the_source_can_tell_is_a_failed_compilation(
    post: Post, body: dict[str, Any], slug: str, words: list[str]
) -> None:
    answer = post(body)

    assert answer.status_code == 200
    problem, diagnostics = answer.json()["problem"], answer.json()["diagnostics"]
    assert problem["slug"] == slug
    assert problem["type"].endswith(slug)
    assert diagnostics[0]["severity"] == "error"
    for word in words:
        assert word in f"{diagnostics[0]['message']} {diagnostics[0]['hint']}"


@pytest.mark.parametrize(
    ("name", "reached"),
    [
        ("unknown_name", []),
        ("llvm_abort", ["source", "ttir", "ttgir", "llir"]),
        ("ptxas_error", ["source", "ttir", "ttgir", "llir", "ptx"]),
    ],
)
def test_the_stages_reached_stay(post: Post, name: str, reached: list[str]) -> None:
    failed = post(broken(name, include=["ttir"])).json()

    assert list(failed["artifacts"]) == reached
    assert list(failed["included"]) == (["ttir"] if reached else [])


def test_a_failure_of_the_source_is_a_hit_for_a_while(post: Post) -> None:
    first = post(broken("unknown_name")).json()
    again = post(broken("unknown_name")).json()

    assert first["problem"]["retryable"] is False
    assert again == first | {"cache": "hit"}


def test_a_failure_that_may_not_come_again_is_tried_again(post: Post) -> None:
    body = bodies.running("while True: pass", timeout_s=0.3)
    first, again = post(body).json(), post(body).json()

    assert first["problem"]["slug"] == "compile_timeout"
    assert first["problem"]["retryable"] is True
    assert (first["cache"], again["cache"]) == ("miss", "miss")


def test_a_failure_can_be_refreshed(post: Post) -> None:
    post(broken("unknown_name"))

    assert post(broken("unknown_name", refresh=True)).json()["cache"] == "miss"

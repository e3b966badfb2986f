"""What a source says of its kernels, over HTTP, with nothing of it executed."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.compiler.kernels import KERNELS

AUTOTUNED = """
import os, torch, triton
import triton.language as tl

os._exit(3)

@triton.jit
def scale(x, by: tl.constexpr = 2):
    return x * by


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 128}, num_warps=4),
        triton.Config({"BLOCK": 256, "TYPE": tl.float16}, num_warps=8, num_stages=2),
    ],
    key=["n"],
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit(do_not_specialize=["n"])
def kernel(x_ptr: "*fp32", n, EVEN: tl.constexpr, BLOCK: tl.constexpr,
           TYPE: tl.constexpr = tl.float32,
           SCALE: tl.constexpr = 2 ** 3, eps=1e-5, nothing=None):
    tl.store(x_ptr + tl.arange(0, BLOCK), scale(eps))
"""


def inspect(http: httpx.Client, source: str, **fields: Any) -> httpx.Response:
    return http.post("/v1/inspect", params={"wait": 30}, json={"source": source, **fields})


def test_parameters_configurations_heuristics_and_calls_are_told(http: httpx.Client) -> None:
    answer = inspect(http, AUTOTUNED)

    assert answer.status_code == 200
    body = answer.json()
    assert (body["state"], body["problem"], body["diagnostics"]) == ("succeeded", None, [])
    scale, kernel = body["kernels"]
    assert (scale["name"], kernel["name"]) == ("scale", "kernel")
    assert kernel["calls"] == ["scale"]
    assert kernel["heuristics"] == ["EVEN"]
    assert kernel["configs"] == [
        {
            "constexprs": {"BLOCK": {"literal": 128}},
            "options": {"num_warps": {"literal": 4}},
        },
        {
            "constexprs": {"BLOCK": {"literal": 256}, "TYPE": {"literal": {"dtype": "fp16"}}},
            "options": {"num_warps": {"literal": 8}, "num_stages": {"literal": 2}},
        },
    ]
    told = {p["name"]: p for p in kernel["parameters"]}
    assert list(told) == ["x_ptr", "n", "EVEN", "BLOCK", "TYPE", "SCALE", "eps", "nothing"]
    assert told["x_ptr"]["annotation"] == "*fp32"
    assert told["n"]["do_not_specialize"] is True
    assert told["BLOCK"]["constexpr"] is True
    assert told["BLOCK"]["default"] is None
    assert told["TYPE"]["default"] == {"literal": {"dtype": "fp32"}}
    assert told["SCALE"]["default"] == {"expression": "2 ** 3"}
    assert told["eps"]["default"] == {"literal": 1e-5}
    assert told["nothing"]["default"] == {"literal": None}
    lines = AUTOTUNED.split("\n")
    first, last = kernel["blanked"][0]
    assert first <= lines.index("@triton.autotune(") + 1 <= last


def test_a_source_without_kernels_has_none(http: httpx.Client) -> None:
    body = inspect(http, "import triton\n").json()

    assert (body["state"], body["kernels"]) == ("succeeded", [])


def test_a_source_that_is_no_python_says_where(http: httpx.Client) -> None:
    text = (KERNELS / "broken" / "colon_missing.py").read_text()

    body = inspect(http, text).json()

    assert body["state"] == "failed"
    assert body["kernels"] == []
    assert body["problem"]["slug"] == "syntax_error"
    [error] = body["diagnostics"]
    assert error["line"] > 1
    assert error["excerpt"].split("\n")[0] == text.split("\n")[error["line"] - 1]


def test_the_second_time_it_is_a_hit(http: httpx.Client) -> None:
    source = "x = 'asked for twice'\n"

    first, second = inspect(http, source), inspect(http, source)

    assert first.headers["Cache-Status"] == "tritond; fwd=miss"
    assert second.headers["Cache-Status"] == "tritond; hit"
    assert first.json() == second.json()


def test_without_a_wait_it_is_waited_for_all_the_same(http: httpx.Client) -> None:
    assert http.post("/v1/inspect", json={"source": "no = 'wait'\n"}).status_code == 200


def test_who_does_not_wait_is_told_to_ask_again(http: httpx.Client) -> None:
    answer = http.post("/v1/inspect", params={"wait": 0}, json={"source": "a = 'zero wait'\n"})

    assert answer.status_code == 202
    assert answer.headers["Retry-After"]
    assert answer.json()["state"] in {"queued", "running"}
    assert inspect(http, "a = 'zero wait'\n").json()["state"] == "succeeded"


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no source": ({}, "/source"),
    "an empty source": ({"source": ""}, "/source"),
    "NUL": ({"source": "\0"}, "/source"),
    "an unknown field": ({"source": "x", "kernel": "k"}, "/kernel"),
    "a file that is no module": ({"source": "x", "files": {"../a.py": ""}}, "/files/..~1a.py"),
}


@pytest.mark.parametrize(("body", "pointer"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_request_is_refused(
    http: httpx.Client, body: dict[str, Any], pointer: str
) -> None:
    answer = http.post("/v1/inspect", json=body)

    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_a_body_that_is_no_json_is_400(http: httpx.Client) -> None:
    headers = {"Content-Type": "application/json"}

    assert http.post("/v1/inspect", content=b"{", headers=headers).status_code == 400

"""Sweeps over launches on the CPU device: each variant is judged like any launch."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.sweeps.service.test_sweeps import post_sweep

SOURCE = """
import triton
import triton.language as tl


@triton.jit
def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)
"""
BASE: dict[str, Any] = {
    "compilation": {"source": SOURCE},
    "device": "cpu",
    "grid": ["cdiv(n, BLOCK)"],
    "arguments": {
        "x_ptr": {"shape": [100], "dtype": "fp32", "init": {"kind": "uniform"}},
        "out_ptr": {"shape": [100], "dtype": "fp32", "output": True},
        "n": 100,
    },
    "reference": {"source": "def reference(x_ptr, **_):\n    return 2 * x_ptr\n"},
}


@pytest.fixture(scope="module")
def swept(http: httpx.Client) -> dict[str, Any]:
    """Two sizes, one with a wrong length, by two block sizes."""
    sizes = {
        "small": {"n": 10, "x_ptr": {"shape": [10]}, "out_ptr": {"shape": [10]}},
        "lying": {"n": 120},
    }
    answer = post_sweep(
        http, base=BASE, space={"arguments": sizes, "constexprs": {"BLOCK": [16, 64]}}
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_each_variant_has_the_verdict_of_its_launch(swept: dict[str, Any]) -> None:
    assert [(row["values"]["arguments"], row["verdict"]) for row in swept["rows"]] == [
        ("small", "passed"),
        ("small", "passed"),
        ("lying", "out_of_bounds"),
        ("lying", "out_of_bounds"),
    ]
    assert swept["counts"] == {"completed": 4}


def test_a_row_says_why_its_verdict_is_not_good(swept: dict[str, Any]) -> None:
    reasons = [row["reason"] for row in swept["rows"]]

    assert reasons[:2] == [None, None]
    assert all("user.py:10" in reason and "x_ptr[100]" in reason for reason in reasons[2:])


def test_a_row_leads_to_its_launch(swept: dict[str, Any], http: httpx.Client) -> None:
    row = swept["rows"][-1]

    launch = http.get(row["launch_url"]).json()

    assert (launch["id"], launch["verdict"]) == (row["launch_id"], "out_of_bounds")


def test_all_variants_are_asked_the_same(swept: dict[str, Any], http: httpx.Client) -> None:
    seeds = [http.get(row["launch_url"]).json()["seeds"] for row in swept["rows"]]

    assert all(each == seeds[0] for each in seeds)


def test_rows_of_a_launch_for_a_target_say_what_its_kernel_takes(http: httpx.Client) -> None:
    base = BASE | {"compilation": BASE["compilation"] | {"constexprs": {"BLOCK": 128}}}

    sweep = post_sweep(
        http, base=base, space={"target": ["cuda:80", "hip:gfx942"]}, include=["instruction_mix"]
    ).json()

    for row in sweep["rows"]:
        assert (row["state"], row["verdict"]) == ("completed", "passed")
        compilation = http.get(row["compilation_url"]).json()
        assert compilation["target"] == row["values"]["target"]
        assert row["registers"] == compilation["resources"]["registers"] > 0
        assert row["instruction_mix"]["total"] > 0


def test_what_does_not_compile_is_reported_by_the_launch(http: httpx.Client) -> None:
    space = {"constexprs.BLOCK": [100], "target": ["cuda:90"]}

    [row] = post_sweep(http, base=BASE, space=space).json()["rows"]

    assert (row["state"], row["problem"]["slug"]) == ("failed", "compile_error")
    assert row["launch_url"] is not None


def test_a_space_of_a_finished_compilation_is_its_arguments_and_grids(http: httpx.Client) -> None:
    kernel = {
        "source": SOURCE,
        "signature": {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"},
        "constexprs": {"BLOCK": 32},
        "target": "cuda:90",
    }
    key = http.post("/v1/compilations", params={"wait": 60}, json=kernel).json()["key"]
    base = {name: part for name, part in BASE.items() if name != "compilation"}
    base |= {"compilation_key": key, "grid": [1]}

    sweep = post_sweep(http, base=base, space={"grid": [[1], [4]]}).json()
    refused = post_sweep(http, base=base, space={"options.num_warps": [1]}).json()

    assert [row["verdict"] for row in sweep["rows"]] == ["mismatch", "passed"]
    assert [error["pointer"] for error in refused["errors"]] == ["/space/options.num_warps"]


def test_labels_have_no_more_arguments_together_than_a_launch(http: httpx.Client) -> None:
    arguments = BASE["arguments"] | {f"s{index}": index for index in range(60)}
    space = {"arguments": {f"label {index}": {"n": index} for index in range(200)}}

    answer = post_sweep(http, base=BASE | {"arguments": arguments}, space=space)

    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert error["pointer"] == "/space"
    assert "12800 arguments together; the limit is 10000" in error["message"]


def test_arguments_that_cannot_be_are_the_row_of_their_variants(http: httpx.Client) -> None:
    sizes = {"right": {}, "wrong": {"x_ptr": {"shape": [-1]}}}
    base = BASE | {"compilation": {"source": SOURCE, "constexprs": {"BLOCK": 32}}}

    right, wrong = post_sweep(http, base=base, space={"arguments": sizes}).json()["rows"]

    assert (right["verdict"], wrong["state"]) == ("passed", "refused")
    assert wrong["problem"]["errors"][0]["pointer"] == "/arguments/x_ptr/shape/0"

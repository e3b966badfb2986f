"""Sweeps over launches on the CPU device: each variant is a launch, judged as any."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.service.sweeps.test_sweeps import post_sweep

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
    "device": "interpreter",
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
    """Two sizes, one of which lies about its length, by two block sizes."""
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


def test_a_row_leads_to_its_launch(swept: dict[str, Any], http: httpx.Client) -> None:
    row = swept["rows"][-1]

    launch = http.get(row["launch_url"]).json()

    assert (launch["id"], launch["verdict"]) == (row["launch_id"], "out_of_bounds")


def test_all_variants_are_asked_the_same(swept: dict[str, Any], http: httpx.Client) -> None:
    seeds = [http.get(row["launch_url"]).json()["seeds"] for row in swept["rows"]]

    assert all(each == seeds[0] for each in seeds)

"""The layouts of a compilation's TTGIR, over HTTP."""

from __future__ import annotations

import json
import math
from typing import Any

import httpx
import pytest

from benchmarks.mix import Mix
from compiler.target import ARCHITECTURES
from tests.integration.service.conftest import Post
from tests.integration.service.derived.compiled import compiled, get

TARGETS = [row.name for row in ARCHITECTURES if row.is_common]
UNTOLD = "do not describe ttg.amd_rotating_shared"
"""Triton 3.9 on AMD's rotating shared memory."""


def layouts_of(http: httpx.Client, compilation: dict[str, Any]) -> list[dict[str, Any]]:
    answer = get(http, compilation, "layouts")
    assert answer.status_code == 200, answer.text
    assert answer.json()["truncated"] is False
    found: list[dict[str, Any]] = answer.json()["layouts"]
    return found


def test_threads_of_a_vector_add_hold_four_neighbours(http: httpx.Client, post: Post) -> None:
    layouts = {each["type"]: each for each in layouts_of(http, compiled(post, "vector_add"))}

    held = layouts["tensor<1024xf32, #blocked>"]
    assert held["bases"]["register"] == [[1], [2], [512]]
    assert held["bases"]["lane"] == [[4], [8], [16], [32], [64]]
    assert held["bases"]["warp"] == [[128], [256]]


def test_a_kernel_without_ttgir_has_no_layouts(http: httpx.Client, post: Post) -> None:
    answer = get(http, compiled(post, "vector_add", stop_after="ttir"), "layouts")

    assert answer.status_code == 404
    assert answer.json()["slug"] == "stage_not_reached"


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_the_layouts_of_real_kernels_reach_every_element(
    http: httpx.Client, post: Post, target: str
) -> None:
    for request in {each["kernel"]: each for each in Mix().real()}.values():
        made = post({**request, "target": target, "include": ["ttgir"]}).json()
        if made["state"] != "succeeded":
            assert (request["kernel"], target) == ("quantize_kernel", "cuda:80")
            continue
        layouts = layouts_of(http, made)
        assert layouts
        for each in layouts:
            assert each["type"] in made["included"]["ttgir"]
            if each["problem"] is None:
                assert reached(each["bases"]) == math.prod(each["shape"]), json.dumps(each)
            else:
                assert target.startswith("hip"), each
                assert UNTOLD in each["problem"]


def reached(bases: dict[str, list[list[int]]]) -> int:
    """Return how many elements have a place: 2 to the rank of all bases."""
    pivots: dict[int, int] = {}
    for base in (base for some in bases.values() for base in some):
        left = sum(extent << (21 * dimension) for dimension, extent in enumerate(base))
        while left and left.bit_length() in pivots:
            left ^= pivots[left.bit_length()]
        if left:
            pivots[left.bit_length()] = left
    return 1 << len(pivots)

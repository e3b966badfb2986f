"""Artifacts derived from compilations of every installed version of Triton."""

from __future__ import annotations

import itertools
import math
import types
from pathlib import Path

import httpx
import numpy as np
import pytest

from tests.integration.service.bodies import good
from tests.integration.service.derived.compiled import get
from tests.integration.service.derived.test_layouts_answered import reached
from tests.integration.service.derived.test_triton_cache import MATMUL, VECTOR_ADD, installed, jit
from tests.toolchains.test_other_tritons import VERSIONS, compile_with

KERNELS = [("vector_add", "add_kernel", VECTOR_ADD), ("matmul", "matmul_kernel", MATMUL)]


@pytest.mark.parametrize(("name", "kernel", "arguments"), KERNELS)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_jit_of_that_version_finds_what_was_installed(
    client: httpx.Client,
    pythons: dict[str, str],
    tmp_path: Path,
    version: str,
    name: str,
    kernel: str,
    arguments: dict[str, object],
) -> None:
    made = compile_with(client, version, good(name))
    cache = installed(client, made, tmp_path)

    answer = jit(cache, good(name)["source"], kernel, arguments, pythons[version])

    assert answer["cache_hit"] == [True]


@pytest.mark.parametrize("version", VERSIONS)
def test_passes_lead_from_the_source_to_the_artifact(client: httpx.Client, version: str) -> None:
    made = compile_with(client, version, good("matmul"))

    passes = get(client, made, "passes").json()["passes"]

    changes = [step for step in passes if step["changed"]]
    artifact = client.get(f"{made['url']}/artifacts/llir").text
    assert changes[-1]["after"] == artifact.strip("\n")
    assert all(a["after"] == b["before"] for a, b in itertools.pairwise(changes))


@pytest.mark.parametrize("target", ["cuda:90", "cuda:100", "hip:gfx942"])
@pytest.mark.parametrize("version", VERSIONS)
def test_layouts_reach_every_element(client: httpx.Client, version: str, target: str) -> None:
    made = compile_with(client, version, good("matmul", target=target))

    layouts = get(client, made, "layouts").json()["layouts"]

    for each in layouts:
        if each["problem"] is None:
            assert reached(each["bases"]) == math.prod(each["shape"]), each
        else:  # Triton 3.6 tells registers only, and none tells AMD's rotating shared memory
            assert each["type"].startswith("!ttg.memdesc"), each
            assert "amd_rotating" in each["problem"] or version.startswith("3.6."), each
    assert any(each["type"].startswith("tensor") for each in layouts)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_copy_is_found_in_the_machine_code(client: httpx.Client, version: str) -> None:
    made = compile_with(client, version, good("matmul"))

    lines = get(client, made, "lines").json()["lines"]

    source = good("matmul")["source"].splitlines()
    (row,) = [row for row in lines if "a = tl.load(" in source[row["line"] - 1]]
    sass = client.get(f"{made['url']}/artifacts/sass").text.splitlines()
    assert any("LDGSTS" in sass[number - 1] for number in row["sass"])


@pytest.mark.parametrize("form", ["c", "cuda-inline", "rust", "python"])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_format_is_exported(client: httpx.Client, version: str, form: str) -> None:
    made = compile_with(client, version, good("matmul"))

    answer = get(client, made, f"exports/{form}")

    assert answer.status_code == 200, answer.text
    assert f"Triton {version}" in answer.text


BLOCK_POINTERS = """import triton
import triton.language as tl

@triton.jit
def add_one(x, y, M, N, B: tl.constexpr):
    p = tl.make_block_ptr(x, (M, N), (N, 1), (0, 0), (B, B), (1, 0))
    q = tl.make_block_ptr(y, (M, N), (N, 1), (0, 0), (B, B), (1, 0))
    for _ in range(0, tl.cdiv(N, B)):
        v = tl.load(p, boundary_check=(0, 1), padding_option="zero")
        tl.store(q, v + 1, boundary_check=(0, 1))
        p, q = tl.advance(p, (0, B)), tl.advance(q, (0, B))
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_block_pointers_are_reported_in_numpy(client: httpx.Client, version: str) -> None:
    signature = {"x": "*fp32", "y": "*fp32", "M": "i32", "N": "i32"}
    body = {"source": BLOCK_POINTERS, "signature": signature, "constexprs": {"B": 16}}
    made = compile_with(client, version, body | {"target": "cuda:90"})
    assert made["state"] == "succeeded", made["problem"]

    text = get(client, made, "artifacts/numpy").text

    module = types.ModuleType("told")
    exec(compile(text, "translated.py", "exec"), module.__dict__)
    x, y = np.arange(11 * 40, dtype=np.float32).reshape(11, 40), np.zeros((11, 40), np.float32)
    module.launch(module.__dict__["add_one"], (1,), x, y, 11, 40)
    np.testing.assert_array_equal(y, x + 1)


@pytest.mark.parametrize(("one", "other"), [*itertools.pairwise(VERSIONS)])
@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
def test_two_versions_are_compared_each_disassembled_by_its_own(
    client: httpx.Client, one: str, other: str, target: str
) -> None:
    a, b = (
        compile_with(client, version, good("matmul", target=target)) for version in (one, other)
    )

    found = get(client, a, f"diff/{b['key']}").json()

    assert found["toolchain"]["triton"] == {
        "a": a["toolchain"]["triton"],
        "b": b["toolchain"]["triton"],
    }
    assert [stage["only_in"] for stage in found["stages"]] == [None] * len(found["stages"])
    for side in ("a", "b"):
        by_class = found["instructions"][side]["by_class"]
        assert by_class["tensor"] > 0
        assert by_class["other"] == 0
    itself = get(client, a, f"diff/{a['key']}").json()
    assert itself["same"] is True

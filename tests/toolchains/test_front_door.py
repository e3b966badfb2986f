"""Requests in every version: IR of other versions, JIT hooks, Gluon, removed features."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.compiler.kernels import KERNELS
from tests.integration.compiler.posted.test_jit_data_compiling import SOURCE, without_paths
from tests.integration.service.bodies import broken, good
from tests.toolchains.test_other_tritons import VERSIONS, compile_with

NEWEST = "3.9.0"
GLUON = """from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def kernel(x_ptr, y_ptr, N: gl.constexpr = 64):
    rows_first: gl.constexpr = gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])
    columns_first: gl.constexpr = gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1])
    rows = gl.arange(0, N, gl.SliceLayout(1, rows_first))[:, None]
    columns = gl.arange(0, N, gl.SliceLayout(0, rows_first))[None, :]
    x = gl.convert_layout(gl.load(x_ptr + rows * N + columns), columns_first)
    gl.store(y_ptr + gl.arange(0, N, gl.SliceLayout(1, columns_first)), gl.sum(x, 1))
"""
# the JIT of Triton 3.6 cannot print functions among the constants itself
WITHOUT_FUNCTIONS = (
    SOURCE.replace("ACT: tl.constexpr, ", "")
    .replace('"ACT": double, ', "")
    .replace("ACT(", "double(")
)


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest, pythons: dict[str, str]) -> str:
    if request.param not in pythons:
        pytest.skip(f"Triton {request.param} is not installed")
    return str(request.param)


def test_blackwell_is_offered(client: httpx.Client, version: str) -> None:
    offered = {item["triton"]: item for item in client.get("/v1/targets").json()["toolchains"]}

    assert {"cuda:100", "cuda:120"} <= set(offered[version]["targets"])


@pytest.mark.parametrize("name", ["vector_add", "matmul", "tensor_descriptor"])
@pytest.mark.parametrize("language", ["ttir", "ttgir"])
def test_ir_moves_between_versions(
    client: httpx.Client, version: str, language: str, name: str
) -> None:
    body = good(name, include=[language])
    for source, target in (version, NEWEST), (NEWEST, version):
        text = compile_with(client, source, body)["included"][language]
        ir = {"ir": {"language": language, "text": text}, "target": "cuda:90"}

        made = compile_with(client, target, ir)

        assert made["state"] == "succeeded", made["problem"]
        assert "cubin" in made["artifacts"]
        is_repaired = name == "tensor_descriptor" and version in {"3.6.0", "3.7.1"}
        notes = [d["message"] for d in made["diagnostics"] if "tensordesc" in d["message"]]
        assert bool(notes) is is_repaired


def test_ttgir_of_amd_moves_on_to_the_newest_version(client: httpx.Client, version: str) -> None:
    body = good("matmul", include=["ttgir"]) | {"target": "hip:gfx942"}
    text = compile_with(client, version, body)["included"]["ttgir"]

    ir = {"ir": {"language": "ttgir", "text": text}, "target": "hip:gfx942"}
    made = compile_with(client, NEWEST, ir)

    assert made["state"] == "succeeded", made["problem"]


def test_what_3_9_removed_still_compiles_before_it(client: httpx.Client, version: str) -> None:
    body = broken("block_pointer")

    assert compile_with(client, version, body)["state"] == "succeeded"
    removed = compile_with(client, NEWEST, body)
    assert removed["problem"]["slug"] == "compile_error"
    assert "3.6" in removed["diagnostics"][0]["hint"]


def test_hook_data_of_the_version_compiles_to_the_ptx_of_its_jit(
    client: httpx.Client, version: str, pythons: dict[str, str], tmp_path: Path
) -> None:
    source = WITHOUT_FUNCTIONS if version.startswith("3.6") else SOURCE
    said = hooked(source, pythons[version], tmp_path)

    made = compile_with(
        client,
        version,
        {
            "source": source,
            "specialization_data": said["specialization_data"],
            "target": "cuda:90",
            "include": ["ptx"],
        },
    )

    assert made["state"] == "succeeded", made["problem"]
    assert made["options"]["num_warps"] == 8
    assert without_paths(made["included"]["ptx"]) == without_paths(said["ptx"])


@pytest.mark.parametrize("target", ["cuda:90", "cuda:100"])
def test_gluon_compiles(client: httpx.Client, version: str, target: str) -> None:
    body = {"source": GLUON, "signature": {"x_ptr": "*fp32", "y_ptr": "*fp32"}, "target": target}

    made = compile_with(client, version, body)

    assert made["state"] == "succeeded", made["problem"]
    assert list(made["artifacts"]) == ["source", "ttgir", "llir", "ptx", "cubin"]


def hooked(source: str, python: str, cache: Path) -> dict[str, Any]:
    """Return what the JIT of the environment of `python` passes to its hooks, and its PTX."""
    done = subprocess.run(
        [python, KERNELS.parent / "integration" / "compiler" / "hooked.py"],
        input=json.dumps({"source": source}), capture_output=True, text=True, check=False,
        env={"TRITON_CACHE_DIR": str(cache), "TRITON_DEFAULT_FP_FUSION": "1", "HOME": str(cache)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer

"""Typical kernels compile to every stage, with exactly Triton's own PTX."""

from __future__ import annotations

import ast
import base64
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cases import slow_except
from tests.integration.compiler.kernels import KERNELS, read
from tests.integration.compiler.triton_compile import TritonCompile
from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.running import ROOT

CUDA_STAGES = ["source", "ttir", "ttgir", "llir", "ptx", "cubin"]
NAMES = ("fused_softmax", "matmul", "loops", "scan", "helpers", "constexpr_globals")
UNIT_STRIDES = ("stride_ak", "stride_bn", "stride_cn")


@pytest.mark.parametrize("name", slow_except(["fused_softmax", "matmul"], NAMES))
def test_a_kernel_reaches_every_stage(post: Post, name: str) -> None:
    compilation = post(bodies.good(name, include=["ptx"])).json()

    assert compilation["state"] == "succeeded", compilation["diagnostics"]
    assert list(compilation["artifacts"]) == CUDA_STAGES
    assert f".entry {compilation['abi']['entry']}(" in compilation["included"]["ptx"]
    assert compilation["abi"]["entry"] == compilation["kernel"]


def test_a_whole_script_is_compiled_as_it_is(post: Post) -> None:
    body = {
        "source": (ROOT / "examples" / "vector_add.py").read_text(),
        "signature": "*fp32:16, *fp32:16, *fp32:16, i32",
        "constexprs": {"BLOCK_SIZE": 1024},
        "target": "cuda:90",
        "include": ["ptx"],
    }
    assert "import torch" in body["source"]

    compilation = post(body).json()

    assert compilation["state"] == "succeeded", compilation["diagnostics"]
    assert list(compilation["artifacts"]) == CUDA_STAGES
    assert ".visible .entry add_kernel(" in compilation["included"]["ptx"]


@pytest.mark.parametrize("arch", slow_except([90], [86, 90]))
def test_the_ptx_of_a_vector_add_is_that_of_triton_compile(
    post: Post, directly: TritonCompile, tmp_path: Path, arch: int
) -> None:
    body = bodies.good("vector_add_script", target=f"cuda:{arch}", include=["ptx", "cubin"])

    compilation = post(body).json()

    expected = compile_directly(directly, "vector_add_script", arch, tmp_path)
    assert compilation["included"]["ptx"].encode() == expected["ptx"]
    assert base64.b64decode(compilation["included"]["cubin"]) == expected["cubin"]


@pytest.mark.parametrize("arch", slow_except([86], [86, 90]))
def test_the_ptx_of_a_matmul_is_that_of_triton_compile(
    post: Post, directly: TritonCompile, tmp_path: Path, arch: int
) -> None:
    body = bodies.good("matmul_notebook", target=f"cuda:{arch}", include=["ptx"])
    # as a launch gives it: a stride of 1 is an i32 that Triton specializes
    body["signature"] |= dict.fromkeys(UNIT_STRIDES, "i32:1")
    body["constexprs"] = {n: v for n, v in body["constexprs"].items() if n not in UNIT_STRIDES}

    compilation = post(body).json()

    expected = compile_directly(directly, "matmul_notebook", arch, tmp_path)
    assert compilation["included"]["ptx"].encode() == expected["ptx"]


def test_posting_again_is_a_hit_that_no_worker_sees(post: Post, http: httpx.Client) -> None:
    body = bodies.vector_add("posted twice")
    made = post(body)
    events = http.get(f"{made.headers['location']}/events").text

    again = post(body)

    assert again.headers["cache-status"] == "tritond; hit"
    assert again.json() == made.json() | {"cache": "hit"}
    assert http.get(f"{made.headers['location']}/events").text == events
    assert events.count("event: started") == 1


def compile_directly(
    directly: TritonCompile, name: str, arch: int, tmp_path: Path
) -> dict[str, bytes]:
    """Compile with `triton.compile` in a separate process, which has no torch to import."""
    kernel = read(KERNELS / "good" / f"{name}.py")
    request: dict[str, Any] = {
        "source": without_launches(kernel.text),
        "kernel": next(n.name for n in jit_functions(kernel.text)),
        "signature": kernel.request["signature"],
        "constexprs": kernel.request["constexprs"],
        "hints": kernel.request["hints"],
        "options": {"enable_fp_fusion": True},
        "target": ["cuda", arch, 32],
    }
    return directly.stages(request, tmp_path)


def jit_functions(text: str) -> list[ast.FunctionDef]:
    body = ast.parse(text).body
    return [node for node in body if isinstance(node, ast.FunctionDef) and node.decorator_list]


def without_launches(text: str) -> str:
    """Blank all lines except kernels and imports of Triton, so that line numbers stay."""
    lines = text.split("\n")
    kept = {number for number, line in enumerate(lines) if line.startswith("import triton")}
    for node in jit_functions(text):
        first = node.decorator_list[0].lineno - 1
        kept |= set(range(first, node.end_lineno or first))
    return "\n".join(line if number in kept else "" for number, line in enumerate(lines))

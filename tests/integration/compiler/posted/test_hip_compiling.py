"""Kernels for AMD GPUs: every stage, resources and ABI."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cases import slow_except
from tests.integration.compiler.kernels import KERNELS, read
from tests.integration.compiler.posted.test_ir_compiling import WITH_CHECKS, ttir
from tests.integration.compiler.triton_compile import TritonCompile
from tests.integration.service.bodies import good
from tests.integration.service.conftest import Post

STAGES = ["source", "ttir", "ttgir", "llir", "amdgcn", "hsaco"]
ALL = {"include": STAGES}


def hip(name: str, target: str = "hip:gfx942", **changes: Any) -> dict[str, Any]:
    return good(name, **changes) | {"target": target}


CASES = [
    ("vector_add", "gfx942", 64),
    ("matmul", "gfx942", 64),
    ("fused_softmax", "gfx90a", 64),
    ("vector_add", "gfx1100", 32),
    ("matmul", "gfx1201", 32),
]
QUICK = [("vector_add", "gfx942", 64), ("matmul", "gfx1201", 32)]


@pytest.mark.parametrize(("name", "gfx", "warp_size"), slow_except(QUICK, CASES))
def test_every_stage_equals_that_of_triton_compile(
    post: Post, directly: TritonCompile, tmp_path: Path, name: str, gfx: str, warp_size: int
) -> None:
    made = post(hip(name, f"hip:{gfx}", **ALL)).json()
    assert made["state"] == "succeeded", made["problem"]

    kernel = read(KERNELS / "good" / f"{name}.py")
    expected = directly.stages(
        {
            "source": kernel.text,
            "kernel": made["kernel"],
            "signature": kernel.request["signature"],
            "constexprs": {
                parameter["name"]: parameter["value"]
                for parameter in made["parameters"]
                if parameter["role"] == "constexpr"
            },
            "hints": kernel.request.get("hints", {}),
            "options": {"enable_fp_fusion": True},
            "target": ["hip", gfx, warp_size],
        },
        tmp_path,
    )

    for stage in STAGES[:-1]:
        assert made["included"][stage] == expected[stage].decode(), stage
    assert base64.b64decode(made["included"]["hsaco"]) == expected["hsaco"]


def test_resources_are_those_of_the_assembly(post: Post) -> None:
    made = post(hip("matmul", include=["amdgcn"])).json()

    resources = made["resources"]
    assert resources["backend"] == "hip"
    assert f".vgpr_count:     {resources['vgpr']}\n" in made["included"]["amdgcn"]
    assert resources["registers"] == resources["vgpr"] > 0
    assert resources["sgpr"] > 0
    assert resources["spill_store_bytes"] == 4 * resources["vgpr_spills"]
    assert resources["shared_bytes"] == made["metadata"]["shared_bytes"] > 0
    assert resources["fits"] is True
    occupancy = resources["occupancy"]
    assert f"; Occupancy: {occupancy['waves_per_simd']:.0f}\n" in made["included"]["amdgcn"]
    assert occupancy["warps_per_sm"] == 4 * occupancy["waves_per_simd"]
    assert occupancy["limited_by"] in {"warps", "registers"}


def test_a_kernel_with_too_much_local_memory_does_not_fit(post: Post) -> None:
    blocks = {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 256}
    known = read(KERNELS / "good" / "matmul.py").request["constexprs"]
    large = {name: blocks.get(name, value) for name, value in known.items()}

    made = post(hip("matmul", constexprs=large)).json()

    assert made["state"] == "succeeded", made["problem"]
    assert made["resources"]["shared_bytes"] > 64 * 1024
    assert made["resources"]["fits"] is False
    assert made["resources"]["occupancy"]["limited_by"] == "shared_memory"
    assert "KB > 64 KB" in made["diagnostics"][-1]["message"]


def test_the_abi_has_wavefronts_of_the_target(post: Post) -> None:
    cdna = post(hip("vector_add")).json()["abi"]
    rdna = post(hip("vector_add", "hip:gfx1100")).json()["abi"]

    assert (cdna["entry"], cdna["block"]) == ("add_kernel", [256, 1, 1])
    assert rdna["block"] == [128, 1, 1]
    sizes = [slot["size_bytes"] for slot in cdna["parameters"]]
    assert sizes == [8, 8, 8, 4, 8, 8]


def test_a_descriptor_is_a_pointer_with_its_extents(post: Post) -> None:
    abi = post(hip("tensor_descriptor")).json()["abi"]

    kinds = [slot["kind"] for slot in abi["parameters"]]
    assert "tensormap" not in kinds
    assert len(abi["parameters"]) == 19


@pytest.mark.parametrize("stop_after", ["ttgir", "llir", "amdgcn"])
def test_it_stops_after_the_requested_stage(post: Post, stop_after: str) -> None:
    made = post(hip("vector_add", stop_after=stop_after)).json()

    assert list(made["artifacts"])[-1] == stop_after


def test_posted_ir_compiles_too(post: Post) -> None:
    made = post(ttir(WITH_CHECKS) | {"target": "hip:gfx942", "include": ["hsaco"]}).json()

    assert base64.b64decode(made["included"]["hsaco"]).startswith(b"\x7fELF")
    assert made["abi"]["entry"] == "add_kernel"


def test_options_are_those_of_the_backend(post: Post, http: httpx.Client) -> None:
    tables = http.get("/v1/targets").json()["toolchains"][0]["options"]
    assert "waves_per_eu" in tables["hip"]
    assert "maxnreg" not in tables["hip"]

    made = post(hip("vector_add", options={"waves_per_eu": 2, "num_warps": 8})).json()
    refused = post(hip("vector_add", options={"maxnreg": 64}))

    assert made["options"]["waves_per_eu"] == 2
    assert made["abi"]["block"] == [512, 1, 1]
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/options/maxnreg"


def test_assembly_that_cannot_be_assembled_is_a_named_failure(post: Post) -> None:
    source = """import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr)
    y = tl.inline_asm_elementwise("v_nonsense $0, $1", "=v,v", [x], tl.int32, True, 1)
    tl.store(x_ptr, y)
"""
    body = {"source": source, "signature": {"x_ptr": "*i32"}, "target": "hip:gfx942"}

    failed = post(body).json()

    assert failed["state"] == "failed"
    assert failed["problem"]["slug"] in {"assembler_failed", "compiler_crashed"}
    assert "amdgcn" in failed["artifacts"]

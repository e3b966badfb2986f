"""Kernels of the running system, exported as inline assembly and compiled by nvcc into others."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.derived.compiled import compiled, get
from tests.slow.export.conftest import Build

SINE = """
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def sine(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, libdevice.sin(tl.load(x_ptr + offsets)))
"""


def around(header: str, times: int = 1) -> str:
    """Return a __global__ function that calls the exported one with its own parameters."""
    match = re.search(r"__forceinline__ void (\w+)\(\n(.*?)\) \{", header, re.DOTALL)
    assert match is not None
    parameters = [item.strip() for item in match[2].split(",")]
    names = ", ".join(re.findall(r"\w+$", item)[0] for item in parameters)
    given = ", ".join(item for item in parameters if item != "void *shared")
    return (
        f'#include "kernel.cuh"\nextern "C" __global__ void outer({given}) {{\n'
        "    extern __shared__ __align__(128) unsigned char shared[];\n"
        + f"    {match[1]}({names});\n" * times
        + "    (void)shared;\n}\n"
    )


def exported(http: httpx.Client, compilation: dict[str, Any]) -> str:
    answer = get(http, compilation, "exports/cuda-inline")
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize(
    "name",
    ["vector_add", "matmul", "loops", "helpers", "tensor_descriptor", "scan", "fused_softmax"],
)
def test_kernels_compile_into_others(
    http: httpx.Client, post: Post, build: Build, name: str, arch: int
) -> None:
    target = f"cuda:{arch}"
    header = exported(http, compiled(post, name, target=target, stop_after="ptx"))
    suffix = "a" if arch == 90 else ""

    folder = build(
        "nvcc", f"-arch=sm_{arch}{suffix}", "-Werror=all-warnings", "-cubin", "-o", "outer.cubin",
        "outer.cu", kernel__cuh=header, outer__cu=around(header),
    )  # fmt: skip

    assert (folder / "outer.cubin").stat().st_size > 1000


def test_a_kernel_may_be_called_twice(http: httpx.Client, post: Post, build: Build) -> None:
    header = exported(http, compiled(post, "loops", stop_after="ptx"))

    build(
        "nvcc", "-arch=sm_90a", "-cubin", "-o", "outer.cubin", "outer.cu",
        kernel__cuh=header, outer__cu=around(header, times=2),
    )  # fmt: skip


def test_a_program_for_more_than_one_architecture(
    http: httpx.Client, post: Post, build: Build
) -> None:
    header = exported(http, compiled(post, "matmul", stop_after="ptx"))
    assert "wgmma" in header

    build(
        "nvcc", "-arch=sm_90a", "-gencode=arch=compute_90,code=sm_90", "-c", "outer.cu",
        kernel__cuh=header, outer__cu=around(header),
    )  # fmt: skip


def test_tables_of_a_device_library_go_along(http: httpx.Client, post: Post, build: Build) -> None:
    body = {
        "source": SINE,
        "signature": {"x_ptr": "*fp32", "y_ptr": "*fp32"},
        "constexprs": {"BLOCK": 128},
        "target": "cuda:90",
        "stop_after": "ptx",
    }
    made = post(body).json()
    assert made["state"] == "succeeded", made["problem"]
    header = exported(http, made)

    assert "sine_cudart_i2opi_f[24] = {" in header
    build(
        "nvcc", "-arch=sm_90a", "-cubin", "-o", "outer.cubin", "outer.cu",
        kernel__cuh=header, outer__cu=around(header),
    )  # fmt: skip


def test_it_refuses_an_older_gpu(http: httpx.Client, post: Post, build: Build) -> None:
    header = exported(http, compiled(post, "vector_add", stop_after="ptx"))

    with pytest.raises(AssertionError, match="needs -arch=sm_90a"):
        build(
            "nvcc", "-arch=sm_80", "-cubin", "-o", "outer.cubin", "outer.cu",
            kernel__cuh=header, outer__cu=around(header),
        )  # fmt: skip


def test_a_kernel_that_prints_cannot_be_exported(http: httpx.Client, post: Post) -> None:
    source = bodies.good("vector_add")["source"].replace(
        "    mask =", '    tl.device_print("pid", pid)\n    mask ='
    )
    made = post(bodies.good("vector_add") | {"source": source, "stop_after": "ptx"}).json()
    assert made["state"] == "succeeded", made["problem"]

    answer = get(http, made, "exports/cuda-inline")

    assert (answer.status_code, answer.json()["slug"]) == (422, "not_derivable")
    assert "device_print" in answer.json()["detail"]

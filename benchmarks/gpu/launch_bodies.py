"""The launches of the GPU benchmarks: good kernels, wrong ones, hostile ones."""

from itertools import islice, product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ELEMENTS = 98_432
ADD = (ROOT / "examples" / "vector_add.py").read_text()
MATMUL = (ROOT / "examples" / "matmul.py").read_text()
OUT_OF_BOUNDS = ADD.replace("mask = offsets < n_elements", "mask = offsets < n_elements + 4096")
FAR_AWAY = ADD.replace("output_ptr + offsets", "output_ptr + offsets + (1 << 40)")
BEFORE_START = ADD.replace("tl.store(output_ptr + offsets", "tl.store(output_ptr + offsets - 1")
WRONG = ADD.replace("x + y", "x - y")
ENDLESS = """import triton
import triton.language as tl


@triton.jit
def endless(x_ptr, n):
    i = 0
    while i < n:
        i = tl.atomic_add(x_ptr, 0)
"""
_REFERENCE = "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr\n"
_PRODUCT = """import numpy as np


def reference(a_ptr, b_ptr, **_):
    return a_ptr.astype(np.float32) @ b_ptr.astype(np.float32)
"""


def add(source: str = ADD, n_elements: int = ELEMENTS, seed: int = 1) -> dict[str, Any]:
    """Return the launch request of a vector add with its reference, timed."""
    buffer = {"shape": [n_elements], "dtype": "fp32"}
    constexprs = {"BLOCK_SIZE": 1024}
    return {
        "compilation": {"source": source, "constexprs": constexprs, "target": "cuda:90"},
        "device": {"target": "cuda:90"},
        "grid": ["cdiv(n_elements, BLOCK_SIZE)"],
        "arguments": {
            "x_ptr": buffer | {"init": {"kind": "uniform", "seed": seed}},
            "y_ptr": buffer | {"init": {"kind": "normal", "seed": 2}},
            "output_ptr": buffer | {"output": True},
            "n_elements": n_elements,
        },
        "reference": {"source": _REFERENCE},
        "timing": {"min_repeats": 50, "max_ms": 20},
    }


def many_cases(count: int = 100, *, timed: bool) -> dict[str, Any]:
    """Return a vector add with `count` cases, each with other inputs."""
    seeds = [{"x_ptr": {"init": {"kind": "uniform", "seed": seed}}} for seed in range(count)]
    body = add() | {"cases": [{"arguments": changed} for changed in seeds]}
    return body if timed else {name: part for name, part in body.items() if name != "timing"}


def endless() -> dict[str, Any]:
    """Return the launch request of a kernel that never ends."""
    return {
        "compilation": {"source": ENDLESS, "target": "cuda:90"},
        "device": {"target": "cuda:90"},
        "grid": [1],
        "arguments": {
            "x_ptr": {"shape": [1], "dtype": "i32", "init": {"kind": "zeros"}, "output": True},
            "n": 100,
        },
        "timeout_s": 1,
    }


def matmuls(count: int = 64, size: int = 512, salt: str = "") -> list[dict[str, Any]]:
    """Return `count` configurations of one matrix product; another `salt` gives new sources."""
    shapes = product((32, 64, 128), (32, 64, 128), (32, 64), (4, 8), (2, 3))
    return [_matmul(MATMUL + salt, size, *configuration) for configuration in islice(shapes, count)]


def _matmul(
    source: str, size: int, m: int, n: int, k: int, num_warps: int, num_stages: int
) -> dict[str, Any]:
    matrix = {"shape": [size, size], "dtype": "fp16"}
    strides = {"stride_am": size, "stride_ak": 1, "stride_bk": size, "stride_bn": 1}
    return {
        "compilation": {
            "source": source,
            "constexprs": {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8},
            "options": {"num_warps": num_warps, "num_stages": num_stages},
            "target": "cuda:90",
        },
        "device": {"target": "cuda:90"},
        "grid": ["cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)"],
        "arguments": {
            "a_ptr": matrix | {"init": {"kind": "normal", "seed": 1}},
            "b_ptr": matrix | {"init": {"kind": "normal", "seed": 2}},
            "c_ptr": matrix | {"output": True},
            **dict.fromkeys("MNK", size),
            **strides,
            "stride_cm": size,
            "stride_cn": 1,
        },
        "reference": {"source": _PRODUCT, "rtol": 1e-2, "atol": 1e-1},
        "timing": {"min_repeats": 20, "max_ms": 20},
    }

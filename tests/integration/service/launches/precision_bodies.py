"""Launches of kernels that lose precision or only seem to, for each device."""

from __future__ import annotations

from typing import Any

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import output, source

TEXT = source("precision")
SIDE, DEEP = 32, 512
PRODUCT = """import numpy
def reference(a_ptr, b_ptr, **_):
    return a_ptr.astype(numpy.float32) @ b_ptr.astype(numpy.float32)
"""
SUMS = """import numpy
def reference(x_ptr, **_):
    return x_ptr.astype(numpy.float32).sum(axis=1, dtype=numpy.float64)
"""
NORM = """import numpy
def reference(x_ptr, **_):
    x = x_ptr.astype(numpy.float64)
    x -= x.mean(axis=1, keepdims=True)
    return x / numpy.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5)
"""
ATTENTION = """import numpy
def reference(q_ptr, k_ptr, v_ptr, **_):
    q, k, v = (one.astype(numpy.float32) for one in (q_ptr, k_ptr, v_ptr))
    scores = q @ k.T * 0.125
    p = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True) @ v
"""


def normal(*shape: int, dtype: str, **more: Any) -> dict[str, Any]:
    return {"shape": list(shape), "dtype": dtype, "init": {"kind": "normal", "seed": 7, **more}}


def loose(text: str) -> dict[str, Any]:
    """Return a reference whose tolerance admits any rounding."""
    return {"source": text, "rtol": 0.1, "atol": 0.5}


def product(kernel: str, dtype: str, out: str, **constexprs: Any) -> dict[str, Any]:
    arguments = {
        "a_ptr": normal(SIDE, DEEP, dtype=dtype),
        "b_ptr": normal(DEEP, SIDE, dtype=dtype),
        "c_ptr": output(SIDE, SIDE, dtype=out),
        "K": DEEP,
    }
    known = {"SIDE": SIDE, "BLOCK": 32, **constexprs}
    return bodies.launch(TEXT, kernel, arguments, known, reference=loose(PRODUCT))


def sums(kernel: str, dtype: str, out: str = "fp32", block: int = 128) -> dict[str, Any]:
    arguments = {
        "x_ptr": bodies.uniform(16, 16384, dtype=dtype),
        "out_ptr": output(16, dtype=out),
        "COUNT": 16384,
    }
    known = {"BLOCK": block}
    return bodies.launch(TEXT, kernel, arguments, known, [16], reference=loose(SUMS))


def norm(dtype: str, out: str, statistics: str) -> dict[str, Any]:
    arguments = {
        "x_ptr": normal(16, 1024, dtype=dtype, mean=1, std=2),
        "y_ptr": output(16, 1024, dtype=out),
    }
    known = {"COUNT": 1024, "STATISTICS": {"dtype": statistics}}
    return bodies.launch(TEXT, "layer_norm", arguments, known, [16], reference=loose(NORM))


def attention(dtype: str, out: str) -> dict[str, Any]:
    arguments = {
        "q_ptr": normal(64, 64, dtype=dtype),
        "k_ptr": normal(256, 64, dtype=dtype),
        "v_ptr": normal(256, 64, dtype=dtype),
        "o_ptr": output(64, 64, dtype=out),
        "KEYS": 256,
    }
    return bodies.launch(TEXT, "attention", arguments, {"SIDE": 64}, reference=loose(ATTENTION))


FP16_DOT = "accumulates in fp16", "out_dtype=tl.float16"
LOOP = "total += tl.load(x_ptr + row * COUNT + start + lanes)\n"
IMPRECISE: dict[str, tuple[dict[str, Any], str, str]] = {
    "TF32": (
        product("matmul", "fp32", "fp32", PRECISION="tf32"),
        "as TF32",
        "input_precision=PRECISION",
    ),
    "a dot in fp16": (product("matmul_adding_in_fp16", "fp16", "fp16"), *FP16_DOT),
    "a dot in fp16, stored in fp32": (product("matmul_adding_in_fp16", "fp16", "fp32"), *FP16_DOT),
    "a sum in bf16": (sums("total_in_own_type", "bf16"), "values are added up in bf16", LOOP),
    "a sum in fp16": (sums("total_in_own_type", "fp16"), "values are added up in fp16", LOOP),
    "a sum of many sums in bf16": (
        sums("total_in_own_type", "bf16", block=1024),
        "values are added up in bf16",
        LOOP,
    ),
    "a sum by a helper": (
        sums("total_by_a_helper", "bf16"),
        "values are added up in bf16",
        "add(total",
    ),
    "a sum in a loop that is unrolled": (
        sums("total_unrolled", "bf16", block=256),
        "values are added up in bf16",
        "total += tl.load(x_ptr + row * COUNT + step",
    ),
    "statistics in fp16": (norm("fp32", "fp32", "fp16"), "fp16", "mean = "),
    "statistics in bf16": (norm("fp32", "fp32", "bf16"), "bf16", "mean = "),
    "attention in TF32": (attention("fp32", "fp32"), "as TF32", "scores = tl.dot"),
}

PRECISE: dict[str, dict[str, Any]] = {
    "products of fp32": product("matmul", "fp32", "fp32", PRECISION="ieee"),
    "three products of TF32": product("matmul", "fp32", "fp32", PRECISION="tf32x3"),
    "fp16 added up in fp32": product("matmul", "fp16", "fp32", PRECISION="tf32"),
    "fp16 added up in fp32, stored in fp16": product("matmul", "fp16", "fp16", PRECISION="tf32"),
    "bf16 added up in fp32, stored in bf16": product("matmul", "bf16", "bf16", PRECISION="tf32"),
    "fp16 summed in fp32": sums("total_in_fp32", "fp16", "fp16"),
    "bf16 summed in fp32": sums("total_in_fp32", "bf16", "bf16"),
    "statistics in fp32": norm("fp16", "fp16", "fp32"),
    "attention of fp16": attention("fp16", "fp16"),
    "attention of bf16": attention("bf16", "bf16"),
    "attention of fp16, stored in fp32": attention("fp16", "fp32"),
}

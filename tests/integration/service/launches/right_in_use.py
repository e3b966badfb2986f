"""Launches of correct real kernels: those of benchmarks/kernels, and puzzles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import output, uniform
from tests.integration.service.launches.puzzles import PUZZLES, puzzle

KERNELS = Path(__file__).parents[4] / "benchmarks" / "kernels"
NUMPY = "import numpy as np\n\n"


def normal(*shape: int, seed: int = 1, dtype: str = "fp32", **more: Any) -> dict[str, Any]:
    """Return a buffer of normally distributed numbers."""
    return {"shape": list(shape), "dtype": dtype, "init": {"kind": "normal", "seed": seed}, **more}


def in_use(
    file: str, kernel: str, arguments: dict[str, Any], constexprs: dict[str, Any],
    grid: list[Any], reference: str, **tolerance: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return a launch of a kernel of benchmarks/kernels."""
    text = (KERNELS / f"{file}.py").read_text()
    answer = {"source": NUMPY + reference, **tolerance}
    sizes = {**constexprs, "SALT": 1}
    return bodies.launch(text, kernel, arguments, sizes, grid, reference=answer)


SOFTMAX = """def reference(input_ptr, **_):
    e = np.exp(input_ptr - input_ptr.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
"""
LAYER_NORM = """def reference(x_ptr, weight_ptr, bias_ptr, epsilon, **_):
    x = x_ptr.astype(np.float64)
    mean = x.mean(axis=1)
    rstd = 1 / np.sqrt(x.var(axis=1) + epsilon)
    y = (x - mean[:, None]) * rstd[:, None] * weight_ptr + bias_ptr + 1
    return {"y_ptr": y, "mean_ptr": mean, "rstd_ptr": rstd}
"""
LAYER_NORM_BACKWARD = """def reference(
    dy_ptr, x_ptr, weight_ptr, mean_ptr, rstd_ptr, dweight_ptr, n_columns, **_
):
    normal = (x_ptr - mean_ptr[:, None]) * rstd_ptr[:, None]
    scaled = weight_ptr * dy_ptr
    first = (normal * scaled).sum(axis=1, keepdims=True) / n_columns
    second = scaled.sum(axis=1, keepdims=True) / n_columns
    dx = (scaled - (normal * first + second)) * rstd_ptr[:, None]
    return {"dx_ptr": dx, "dweight_ptr": dweight_ptr + (dy_ptr * normal).sum(axis=0)}
"""
RMS_NORM = """def reference(x_ptr, residual_ptr, weight_ptr, epsilon, **_):
    x = x_ptr + residual_ptr
    scale = 1 / np.sqrt((x * x).mean(axis=1, keepdims=True) + epsilon)
    return {"y_ptr": x * scale * weight_ptr, "residual_ptr": x}
"""
GELU_MATMUL = """import math

def reference(a_ptr, b_ptr, bias_ptr, **_):
    x = a_ptr.astype(np.float64) @ b_ptr.astype(np.float64) + bias_ptr
    return 0.5 * x * (1 + np.vectorize(math.erf)(x * 0.7071067811865476))
"""
ATTENTION = """def reference(q_ptr, k_ptr, v_ptr, scale, **_):
    scores = np.einsum("hqd,hkd->hqk", q_ptr, k_ptr).astype(np.float64) * scale
    largest = scores.max(axis=2, keepdims=True)
    weights = np.exp2(scores - largest)
    total = weights.sum(axis=2, keepdims=True)
    out = np.einsum("hqk,hkd->hqd", weights / total, v_ptr)
    return {"out_ptr": out, "lse_ptr": (largest + np.log2(total))[:, :, 0]}
"""
RECURRENCE = """def reference(decay_ptr, x_ptr, **_):
    y, state = np.zeros(x_ptr.shape, x_ptr.dtype), 0
    for step in range(len(x_ptr)):
        state = y[step] = decay_ptr[step] * state + x_ptr[step]
    return y
"""
CUMULATIVE_SUM = """def reference(x_ptr, **_):
    return {"y_ptr": np.cumsum(x_ptr + 1, axis=1), "totals_ptr": (x_ptr + 1).sum(axis=1)}
"""
VARIANCE = """def reference(x_ptr, **_):
    return {"mean_ptr": x_ptr.mean(axis=1), "variance_ptr": x_ptr.var(axis=1)}
"""
ARGMAX = """def reference(x_ptr, **_):
    x = x_ptr + 1
    return {"index_ptr": x.argmax(axis=1), "value_ptr": x.max(axis=1)}
"""
COLUMN_SUM = "def reference(x_ptr, y_ptr, **_):\n    return y_ptr + x_ptr.sum(axis=0)\n"
SWIGLU = """def reference(gate_ptr, up_ptr, **_):
    return gate_ptr / (1 + np.exp(-gate_ptr)) * up_ptr + 1
"""
CROSS_ENTROPY = """def reference(logits_ptr, target_ptr, smoothing, **_):
    x = logits_ptr.astype(np.float64)
    largest = x.max(axis=1, keepdims=True)
    lse = largest + np.log(np.exp(x - largest).sum(axis=1, keepdims=True))
    rows = np.arange(len(x))
    chosen = x[rows, target_ptr]
    loss = (1 - smoothing) * (lse[:, 0] - chosen) + smoothing * (lse[:, 0] - x.mean(axis=1))
    gradient = np.exp(x - lse) - smoothing / x.shape[1]
    gradient[rows, target_ptr] -= 1 - smoothing
    return {"logits_ptr": gradient, "loss_ptr": loss, "lse_ptr": lse[:, 0]}
"""
ROPE = """def reference(q_ptr, k_ptr, cos_ptr, sin_ptr, **_):
    def turned(x):
        half = x.shape[2] // 2
        a, b = x[:, :, :half], x[:, :, half:]
        cos, sin = cos_ptr[:, None, :], sin_ptr[:, None, :]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=2)
    return {"q_ptr": turned(q_ptr), "k_ptr": turned(k_ptr)}
"""
TOP_K = """def reference(logits_ptr, **_):
    e = np.exp(logits_ptr - logits_ptr.max(axis=1, keepdims=True))
    weights = e / e.sum(axis=1, keepdims=True)
    chosen = np.argsort(-weights, axis=1, kind="stable")[:, :2]
    value = np.take_along_axis(weights, chosen, axis=1)
    return {"value_ptr": value / value.sum(axis=1, keepdims=True), "index_ptr": chosen}
"""
QUANTIZE = """def reference(x_ptr, **_):
    groups = x_ptr.reshape(len(x_ptr), -1, 128)
    scale = np.maximum(np.abs(groups).max(axis=2), 1e-8) / 448
    return {"q_ptr": (groups / scale[:, :, None]).reshape(x_ptr.shape), "scale_ptr": scale}
"""


def _softmax(kernel: str, dtype: str, **strides: int) -> dict[str, Any]:
    columns = 500 if kernel == "online_softmax_kernel" else 250
    arguments = {
        "output_ptr": output(16, columns, dtype=dtype),
        "input_ptr": normal(16, columns, dtype=dtype),
        **dict.fromkeys(strides, columns), "n_columns": columns,
    }  # fmt: skip
    return in_use("softmax", kernel, arguments, {"BLOCK": 256}, [16], SOFTMAX)


def _layer_norm(dtype: str) -> dict[str, Any]:
    arguments = {
        "x_ptr": normal(16, 500, dtype=dtype), "y_ptr": output(16, 500, dtype=dtype),
        "weight_ptr": uniform(500, seed=2), "bias_ptr": uniform(500, seed=3),
        "mean_ptr": output(16), "rstd_ptr": output(16),
        "stride": 500, "n_columns": 500, "epsilon": 1e-5,
    }  # fmt: skip
    return in_use("normalization", "layer_norm_kernel", arguments, {"BLOCK": 128}, [16], LAYER_NORM)


def _matmul(dtype: str, m: int, n: int, k: int, **tolerance: float) -> dict[str, Any]:
    arguments = {
        "a_ptr": normal(m, k, dtype=dtype), "b_ptr": normal(k, n, dtype=dtype, seed=2),
        "c_ptr": output(m, n, dtype=dtype), "bias_ptr": uniform(n), "M": m, "N": n, "K": k,
        "stride_am": k, "stride_ak": 1, "stride_bk": n, "stride_bn": 1, "stride_cm": n,
        "stride_cn": 1,
    }  # fmt: skip
    sizes = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 16, "GROUP_M": 4, "EPILOGUE": "gelu"}
    grid = ["cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)"]
    return in_use("matmul", "matmul_kernel", arguments, sizes, grid, GELU_MATMUL, **tolerance)


def _attention() -> dict[str, Any]:
    sides = {
        f"{name}_ptr": normal(2, 100, 32, seed=seed, dtype="fp16")
        for seed, name in enumerate("qkv")
    }
    arguments = {
        **sides, "out_ptr": output(2, 100, 32, dtype="fp16"), "lse_ptr": output(2, 100),
        "stride_batch": 3200, "stride": 32, "n_queries": 100, "n_keys": 100, "scale": 0.1,
    }  # fmt: skip
    sizes = {"BLOCK_M": 16, "BLOCK_N": 16, "HEAD": 32, "CAUSAL": False}
    grid = ["cdiv(n_queries, BLOCK_M)", 2]
    return in_use("attention", "attention_kernel", arguments, sizes, grid, ATTENTION)


IN_USE: dict[str, dict[str, Any]] = {
    "vector add": bodies.vector_add(98_432, constexprs={"BLOCK_SIZE": 1024}),
    **{f"puzzle {name}": puzzle(name) for name in PUZZLES},
    "softmax": _softmax("softmax_kernel", "fp32", input_stride=0, output_stride=0),
    "softmax fp16": _softmax("softmax_kernel", "fp16", input_stride=0, output_stride=0),
    "online softmax": _softmax("online_softmax_kernel", "bf16", stride=0),
    "layer norm": _layer_norm("fp32"),
    "layer norm fp16": _layer_norm("fp16"),
    "layer norm backward": in_use(
        "normalization", "layer_norm_backward_kernel",
        {
            "dx_ptr": output(16, 200), "dy_ptr": normal(16, 200, seed=2), "x_ptr": normal(16, 200),
            "weight_ptr": uniform(200), "mean_ptr": normal(16), "rstd_ptr": uniform(16),
            "dweight_ptr": normal(200, output=True), "stride": 200, "n_columns": 200,
        },
        {"BLOCK": 256}, [16], LAYER_NORM_BACKWARD,
    ),
    "rms norm bf16": in_use(
        "normalization", "rms_norm_kernel",
        {
            "y_ptr": output(16, 200, dtype="bf16"), "x_ptr": normal(16, 200, dtype="bf16"),
            "residual_ptr": normal(16, 200, seed=2, dtype="bf16", output=True),
            "weight_ptr": uniform(200, dtype="bf16"), "stride": 200, "n_columns": 200,
            "epsilon": 1e-5,
        },
        {"BLOCK": 256, "HAS_RESIDUAL": True}, [16], RMS_NORM,
    ),
    "matmul fp16": _matmul("fp16", 100, 72, 80),
    "matmul tf32": _matmul("fp32", 100, 72, 80, rtol=1e-2, atol=3e-2),
    "matmul tf32 square": _matmul("fp32", 64, 64, 64, rtol=1e-2, atol=3e-2),
    "attention": _attention(),
    "linear recurrence": in_use(
        "scan", "linear_recurrence_kernel",
        {
            "decay_ptr": uniform(100, 32), "x_ptr": normal(100, 32), "y_ptr": output(100, 32),
            "length": 100, "stride": 32,
        },
        {"BLOCK": 16, "CHANNELS": 16}, [2], RECURRENCE,
    ),
    "cumulative sum": in_use(
        "scan", "cumulative_sum_kernel",
        {
            "x_ptr": normal(16, 200), "y_ptr": output(16, 200), "totals_ptr": output(16),
            "n_columns": 200,
        },
        {"BLOCK": 256, "REVERSE": False}, [16], CUMULATIVE_SUM, rtol=1e-4, atol=1e-4,
    ),
    "variance": in_use(
        "reduction", "variance_kernel",
        {
            "x_ptr": normal(16, 200), "mean_ptr": output(16), "variance_ptr": output(16),
            "n_columns": 200, "stride": 200,
        },
        {"ROWS": 4, "BLOCK": 64}, [4], VARIANCE,
    ),
    "argmax": in_use(
        "reduction", "argmax_kernel",
        {
            "x_ptr": normal(16, 100), "index_ptr": output(16, dtype="i32"),
            "value_ptr": output(16), "n_columns": 100,
        },
        {"BLOCK": 128}, [16], ARGMAX,
    ),
    "column sum": in_use(
        "reduction", "column_sum_kernel",
        {
            "x_ptr": normal(100, 70), "y_ptr": normal(70, output=True), "n_rows": 100,
            "n_columns": 70, "stride": 70,
        },
        {"BLOCK_M": 16, "BLOCK_N": 32}, ["cdiv(n_columns, BLOCK_N)", 2], COLUMN_SUM,
    ),
    "swiglu": in_use(
        "transformer", "swiglu_kernel",
        {
            "gate_ptr": normal(8, 300), "up_ptr": normal(8, 300, seed=2), "out_ptr": output(8, 300),
            "stride": 300, "n_columns": 300,
        },
        {"BLOCK": 128}, [8, "cdiv(n_columns, BLOCK)"], SWIGLU,
    ),
    "cross entropy": in_use(
        "transformer", "cross_entropy_kernel",
        {
            "logits_ptr": normal(8, 300, output=True),
            "target_ptr": {
                "shape": [8], "dtype": "i32", "init": {"kind": "randint", "high": 300, "seed": 3}
            },
            "loss_ptr": output(8), "lse_ptr": output(8), "stride": 300, "n_classes": 300,
            "ignore_index": -100, "smoothing": 0.1,
        },
        {"BLOCK": 128}, [8], CROSS_ENTROPY,
    ),
    "rope": in_use(
        "transformer", "rope_kernel",
        {
            "q_ptr": normal(20, 4, 16, output=True), "k_ptr": normal(20, 2, 16, output=True),
            "cos_ptr": uniform(20, 8), "sin_ptr": uniform(20, 8, seed=2), "stride_q": 64,
            "stride_k": 32, "length": 20,
        },
        {"Q_HEADS": 4, "K_HEADS": 2, "HEAD": 16}, ["length"], ROPE,
    ),
    "top k": in_use(
        "transformer", "top_k_kernel",
        {
            "logits_ptr": normal(16, 60), "value_ptr": output(16, 2),
            "index_ptr": output(16, 2, dtype="i32"), "n_experts": 60,
        },
        {"BLOCK": 64, "K": 2}, [16], TOP_K,
    ),
    "quantize fp8": in_use(
        "transformer", "quantize_kernel",
        {
            "x_ptr": normal(4, 512), "q_ptr": output(4, 512, dtype="fp8e4nv"),
            "scale_ptr": output(4, 4), "n_columns": 512, "stride": 512,
        },
        {"GROUP": 128, "GROUPS": 4}, [4, "cdiv(n_columns, GROUP * GROUPS)"], QUANTIZE,
    ),
}  # fmt: skip

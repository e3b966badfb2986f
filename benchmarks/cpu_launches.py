"""The launches of the CPU device's benchmark: the kernels of the mix, with arguments and a grid.

There are few rows and tokens, since Triton's interpreter takes milliseconds for each program. Four
launches are as large as in tutorials.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mix import Mix

ROWS = 128
_TYPES = {"p16": "fp16", "pb16": "bf16", "p32": "fp32"}
Sizes = Mapping[str, Any]


@dataclass(frozen=True)
class CpuLaunch:
    """One launch: a compile request of the mix, its grid, and its arguments by name.

    An argument is the number of elements of a buffer, a tuple of it and the bound of its random
    integers, or, for a scalar, the number itself.
    """

    name: str
    request: Mapping[str, Any]
    grid: tuple[int, int, int]
    buffers: Mapping[str, tuple[int, int]]
    scalars: Mapping[str, float]
    outputs: frozenset[str]

    @property
    def dtypes(self) -> dict[str, str]:
        """Triton's type of each parameter that is not a constexpr, in order: `*fp32` or `i32`."""
        signature = self.request["signature"]
        [function] = [
            node
            for node in ast.parse(self.request["source"]).body
            if isinstance(node, ast.FunctionDef) and node.name == self.request["kernel"]
        ]
        known = (
            (argument.arg, signature.get(argument.arg, ":1")) for argument in function.args.args
        )
        return {name: kind.partition(":")[0] for name, kind in known if not kind.endswith(":1")}


def of_the_mix() -> list[CpuLaunch]:
    """Return a launch of each request of the mix."""
    return [_launch(request) for request in Mix().real()]


def large() -> list[CpuLaunch]:
    """Return the four large launches, which have separate bars."""
    requests = {request["kernel"]: request for request in Mix().real()}
    add = Mix().small()
    softmax = {"constexprs": {**requests["softmax_kernel"]["constexprs"], "BLOCK": 1024}}
    norm = {"constexprs": {**requests["layer_norm_kernel"]["constexprs"], "BLOCK": 1024}}
    tile = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "EPILOGUE": "none"}
    matmul = {"constexprs": {**requests["matmul_kernel"]["constexprs"], **tile}}
    return [
        _launch(add, name="vector add of 98,432"),
        _launch(
            _in_fp32(requests["softmax_kernel"] | softmax),
            name="softmax 1024 x 1000", rows=1024, columns=1000,
        ),
        _launch(
            _in_fp32(requests["layer_norm_kernel"] | norm),
            name="layer norm 2048 x 1024", rows=2048, columns=1024,
        ),
        _launch(requests["matmul_kernel"] | matmul, name="matmul 512 x 512 x 512", columns=512),
    ]  # fmt: skip


def _in_fp32(request: Mapping[str, Any]) -> dict[str, Any]:
    signature = {
        name: kind.replace("fp16", "fp32") if kind[0] == "*" else kind
        for name, kind in request["signature"].items()
    }
    return {**request, "signature": signature}


def _launch(
    request: Mapping[str, Any], name: str = "", rows: int = ROWS, columns: int | None = None
) -> CpuLaunch:
    kernel, sizes = request["kernel"], request["constexprs"]
    grid, arguments, outputs = _OF[kernel](sizes, rows, columns)
    buffers = {
        key: value if isinstance(value, tuple) else (value, 0)
        for key, value in arguments.items()
        if key.endswith("_ptr")
    }
    scalars = {key: value for key, value in arguments.items() if key not in buffers}
    flags = [str(value) for key, value in sizes.items() if key != "SALT"]
    shown = name or f"{kernel.removesuffix('_kernel')} {' '.join(flags)}"
    whole = (*grid, 1, 1)[:3]
    return CpuLaunch(shown, request, whole, buffers, scalars, frozenset(outputs.split()))


_Made = tuple[Sequence[int], dict[str, Any], str]


def _cdiv(a: int, b: int) -> int:
    return math.ceil(a / b)


def _add(sizes: Sizes, _rows: int, _columns: int | None) -> _Made:
    n = 98_432
    buffers = dict.fromkeys(("x_ptr", "y_ptr", "output_ptr"), n)
    return (_cdiv(n, sizes["BLOCK_SIZE"]),), {**buffers, "n_elements": n}, "output_ptr"


def _softmax(sizes: Sizes, rows: int, columns: int | None) -> _Made:
    width = sizes["BLOCK"]
    sides = dict.fromkeys(("output_ptr", "input_ptr"), rows * width)
    strides = {"input_stride": width, "output_stride": width}
    return (rows,), {**sides, **strides, "n_columns": columns or width - 24}, "output_ptr"


def _online_softmax(sizes: Sizes, rows: int, _columns: int | None) -> _Made:
    width = 2 * sizes["BLOCK"]
    sides = dict.fromkeys(("output_ptr", "input_ptr"), rows * width)
    return (rows,), {**sides, "stride": width, "n_columns": width - 24}, "output_ptr"


def _layer_norm(sizes: Sizes, rows: int, columns: int | None) -> _Made:
    width = columns or 2 * sizes["BLOCK"]
    wide = dict.fromkeys(("x_ptr", "y_ptr"), rows * width)
    per_column = dict.fromkeys(("weight_ptr", "bias_ptr"), width)
    per_row = dict.fromkeys(("mean_ptr", "rstd_ptr"), rows)
    scalars = {"stride": width, "n_columns": width, "epsilon": 1e-5}
    return (rows,), {**wide, **per_column, **per_row, **scalars}, "y_ptr mean_ptr rstd_ptr"


def _layer_norm_backward(sizes: Sizes, rows: int, _columns: int | None) -> _Made:
    width = sizes["BLOCK"]
    wide = dict.fromkeys(("dx_ptr", "dy_ptr", "x_ptr"), rows * width)
    per_column = dict.fromkeys(("weight_ptr", "dweight_ptr"), width)
    per_row = dict.fromkeys(("mean_ptr", "rstd_ptr"), rows)
    scalars = {"stride": width, "n_columns": width - 16}
    return (rows,), {**wide, **per_column, **per_row, **scalars}, "dx_ptr dweight_ptr"


def _rms_norm(sizes: Sizes, rows: int, _columns: int | None) -> _Made:
    width = sizes["BLOCK"]
    wide = dict.fromkeys(("y_ptr", "x_ptr", "residual_ptr"), rows * width)
    scalars = {"stride": width, "n_columns": width - 16, "epsilon": 1e-5}
    return (rows,), {**wide, "weight_ptr": width, **scalars}, "y_ptr residual_ptr"


def _matmul(sizes: Sizes, _rows: int, columns: int | None) -> _Made:
    n = columns or 256
    square = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), n * n)
    strides = {"stride_am": n, "stride_bk": n, "stride_cm": n}
    tiles = _cdiv(n, sizes["BLOCK_M"]) * _cdiv(n, sizes["BLOCK_N"])
    return (tiles,), {**square, "bias_ptr": n, "M": n, "N": n, "K": n, **strides}, "c_ptr"


def _int4_matmul(sizes: Sizes, rows: int, _columns: int | None) -> _Made:
    m, n, k = rows, 256, 256
    groups = k // sizes["GROUP"] * n
    buffers = {"a_ptr": m * k, "b_ptr": (k // 8 * n, 2**31 - 1), "c_ptr": m * n}
    scales = {"scale_ptr": groups, "zero_ptr": groups}
    scalars = {"M": m, "N": n, "K": k, "stride_am": k, "stride_bk": n, "stride_cm": n}
    return (m // sizes["BLOCK_M"], n // sizes["BLOCK_N"]), {**buffers, **scales, **scalars}, "c_ptr"


def _attention(sizes: Sizes, _rows: int, _columns: int | None) -> _Made:
    heads, length, width = 4, 256, sizes["HEAD"]
    sides = dict.fromkeys(("q_ptr", "k_ptr", "v_ptr", "out_ptr"), heads * length * width)
    scalars = {
        "stride_batch": length * width, "stride": width, "n_queries": length, "n_keys": length,
        "scale": 0.1,
    }  # fmt: skip
    grid = (length // sizes["BLOCK_M"], heads)
    return grid, {**sides, "lse_ptr": heads * length, **scalars}, "out_ptr lse_ptr"


def _decode_attention(sizes: Sizes, _rows: int, _columns: int | None) -> _Made:
    sequences, heads, pages = 4, 2, 64
    token = heads * sizes["HEAD"]
    queries = sequences * heads * sizes["GROUP"] * sizes["HEAD"]
    cache = pages * sizes["PAGE"] * token
    buffers = {
        "q_ptr": queries, "k_cache_ptr": cache, "v_cache_ptr": cache, "out_ptr": queries,
        "table_ptr": (sequences * 16, pages), "length_ptr": (sequences, 16 * sizes["PAGE"]),
    }  # fmt: skip
    scalars = {
        "stride_page": sizes["PAGE"] * token, "stride_token": token, "table_stride": 16,
        "scale": 0.1,
    }  # fmt: skip
    return (sequences, heads), {**buffers, **scalars}, "out_ptr"


def _linear_recurrence(sizes: Sizes, _rows: int, _columns: int | None) -> _Made:
    length, stride = 512, 16 * sizes["CHANNELS"]
    sides = dict.fromkeys(("decay_ptr", "x_ptr", "y_ptr"), length * stride)
    return (16,), {**sides, "length": length, "stride": stride}, "y_ptr"


def _cumulative_sum(sizes: Sizes, rows: int, _columns: int | None) -> _Made:
    width = sizes["BLOCK"] - 48
    sides = dict.fromkeys(("x_ptr", "y_ptr"), rows * width)
    return (rows,), {**sides, "totals_ptr": rows, "n_columns": width}, "y_ptr totals_ptr"


def _variance(sizes: Sizes, rows: int, _columns: int | None) -> _Made:
    count, width = rows * sizes["ROWS"], 1024
    buffers = {"x_ptr": count * width, "mean_ptr": count, "variance_ptr": count}
    return (rows,), {**buffers, "n_columns": 1000, "stride": width}, "mean_ptr variance_ptr"


def _argmax(_sizes: Sizes, rows: int, _columns: int | None) -> _Made:
    buffers = {"x_ptr": rows * 4000, "value_ptr": rows, "index_ptr": (rows, 1)}
    return (rows,), {**buffers, "n_columns": 4000}, "value_ptr index_ptr"


def _column_sum(sizes: Sizes, _rows: int, _columns: int | None) -> _Made:
    rows, width = 512, 1024
    scalars = {"n_rows": rows, "n_columns": width, "stride": width}
    grid = (width // sizes["BLOCK_N"], 4)
    return grid, {"x_ptr": rows * width, "y_ptr": width, **scalars}, "y_ptr"


def _rope(sizes: Sizes, rows: int, _columns: int | None) -> _Made:
    q, k = sizes["Q_HEADS"] * sizes["HEAD"], sizes["K_HEADS"] * sizes["HEAD"]
    half = rows * sizes["HEAD"] // 2
    buffers = {"q_ptr": rows * q, "k_ptr": rows * k, "cos_ptr": half, "sin_ptr": half}
    return (rows,), {**buffers, "stride_q": q, "stride_k": k, "length": rows}, "q_ptr k_ptr"


def _swiglu(sizes: Sizes, rows: int, _columns: int | None) -> _Made:
    width = 4096
    sides = dict.fromkeys(("gate_ptr", "up_ptr", "out_ptr"), rows * width)
    grid = (rows, width // sizes["BLOCK"])
    return grid, {**sides, "stride": width, "n_columns": 4000}, "out_ptr"


def _cross_entropy(_sizes: Sizes, rows: int, _columns: int | None) -> _Made:
    classes = 10_000
    buffers = {
        "logits_ptr": rows * classes, "target_ptr": (rows, classes), "loss_ptr": rows,
        "lse_ptr": rows,
    }  # fmt: skip
    scalars = {"stride": classes, "n_classes": classes, "ignore_index": -100, "smoothing": 0.1}
    return (rows,), {**buffers, **scalars}, "logits_ptr loss_ptr lse_ptr"


def _dropout(sizes: Sizes, _rows: int, _columns: int | None) -> _Made:
    n = 98_432
    buffers = dict.fromkeys(("x_ptr", "residual_ptr", "y_ptr"), n)
    scalars = {"n_elements": n, "probability": 0.25, "seed": 7}
    return (_cdiv(n, sizes["BLOCK"]),), {**buffers, **scalars}, "y_ptr"


def _quantize(sizes: Sizes, rows: int, _columns: int | None) -> _Made:
    width = 4096
    groups = width // sizes["GROUP"]
    buffers = {"x_ptr": rows * width, "q_ptr": rows * width, "scale_ptr": rows * groups}
    grid = (rows, groups // sizes["GROUPS"])
    return grid, {**buffers, "n_columns": width, "stride": width}, "q_ptr scale_ptr"


def _top_k(sizes: Sizes, rows: int, _columns: int | None) -> _Made:
    chosen = rows * sizes["K"]
    buffers = {"logits_ptr": rows * 100, "value_ptr": chosen, "index_ptr": (chosen, 1)}
    return (rows,), {**buffers, "n_experts": 100}, "value_ptr index_ptr"


_OF = {
    "add_kernel": _add, "softmax_kernel": _softmax, "online_softmax_kernel": _online_softmax,
    "layer_norm_kernel": _layer_norm, "layer_norm_backward_kernel": _layer_norm_backward,
    "rms_norm_kernel": _rms_norm, "matmul_kernel": _matmul, "int4_matmul_kernel": _int4_matmul,
    "attention_kernel": _attention, "decode_attention_kernel": _decode_attention,
    "linear_recurrence_kernel": _linear_recurrence, "cumulative_sum_kernel": _cumulative_sum,
    "variance_kernel": _variance, "argmax_kernel": _argmax, "column_sum_kernel": _column_sum,
    "rope_kernel": _rope, "swiglu_kernel": _swiglu, "cross_entropy_kernel": _cross_entropy,
    "dropout_kernel": _dropout, "quantize_kernel": _quantize, "top_k_kernel": _top_k,
}  # fmt: skip

"""The compile requests of the benchmarks: common kinds of kernels in realistic sizes.

No cache has seen any request: each kernel has a constexpr SALT, a number that ends up in its TTIR,
and every request uses a new one. A comment would not suffice, since sources with equal TTIR share
the back end.
"""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

KERNELS = Path(__file__).parent / "kernels"
TARGET = "cuda:90"

# kernel: file, signature ("p16" stands for an aligned pointer to fp16 and so on)
_KERNELS = {
    "add_kernel": ("vector_add", "x_ptr y_ptr output_ptr: p32; n_elements: i32"),
    "softmax_kernel": (
        "softmax",
        "output_ptr input_ptr: p16; input_stride output_stride: i32:16; n_columns: i32",
    ),
    "online_softmax_kernel": (
        "softmax", "output_ptr input_ptr: p16; stride: i32:16; n_columns: i32",
    ),
    "layer_norm_kernel": (
        "normalization",
        "x_ptr y_ptr weight_ptr bias_ptr: p16; mean_ptr rstd_ptr: p32; stride: i32:16; "
        "n_columns: i32:16; epsilon: fp32",
    ),
    "layer_norm_backward_kernel": (
        "normalization",
        "dx_ptr dy_ptr x_ptr weight_ptr: p16; mean_ptr rstd_ptr dweight_ptr: p32; "
        "stride n_columns: i32:16",
    ),
    "rms_norm_kernel": (
        "normalization",
        "y_ptr x_ptr residual_ptr weight_ptr: pb16; stride n_columns: i32:16; epsilon: fp32",
    ),
    "matmul_kernel": (
        "matmul",
        "a_ptr b_ptr c_ptr: p16; bias_ptr: p32; M N K: i32; "
        "stride_am stride_bk stride_cm: i32:16; stride_ak stride_bn stride_cn: i32:1",
    ),
    "int4_matmul_kernel": (
        "matmul",
        "a_ptr c_ptr scale_ptr zero_ptr: p16; b_ptr: *i32:16; M N K: i32; "
        "stride_am stride_bk stride_cm: i32:16",
    ),
    "attention_kernel": (
        "attention",
        "q_ptr k_ptr v_ptr out_ptr: p16; lse_ptr: p32; stride_batch stride: i32:16; "
        "n_queries n_keys: i32; scale: fp32",
    ),
    "decode_attention_kernel": (
        "attention",
        "q_ptr k_cache_ptr v_cache_ptr out_ptr: p16; table_ptr length_ptr: *i32:16; "
        "stride_page stride_token: i32:16; table_stride: i32; scale: fp32",
    ),
    "linear_recurrence_kernel": ("scan", "decay_ptr x_ptr y_ptr: p32; length: i32; stride: i32:16"),
    "cumulative_sum_kernel": ("scan", "x_ptr y_ptr totals_ptr: p32; n_columns: i32"),
    "variance_kernel": (
        "reduction", "x_ptr: p16; mean_ptr variance_ptr: p32; n_columns: i32; stride: i32:16",
    ),
    "argmax_kernel": ("reduction", "x_ptr value_ptr: p32; index_ptr: *i32:16; n_columns: i32"),
    "column_sum_kernel": (
        "reduction", "x_ptr y_ptr: p32; n_rows n_columns: i32; stride: i32:16",
    ),
    "rope_kernel": (
        "transformer", "q_ptr k_ptr cos_ptr sin_ptr: pb16; stride_q stride_k: i32:16; length: i32",
    ),
    "swiglu_kernel": (
        "transformer", "gate_ptr up_ptr out_ptr: pb16; stride: i32:16; n_columns: i32",
    ),
    "cross_entropy_kernel": (
        "transformer",
        "logits_ptr: pb16; target_ptr: *i64:16; loss_ptr lse_ptr: p32; stride: i32:16; "
        "n_classes: i32; ignore_index: i32; smoothing: fp32",
    ),
    "dropout_kernel": (
        "transformer",
        "x_ptr residual_ptr y_ptr: p16; n_elements: i32; probability: fp32; seed: i32",
    ),
    "quantize_kernel": (
        "transformer",
        "x_ptr: pb16; q_ptr: *fp8e4nv:16; scale_ptr: p32; n_columns: i32; stride: i32:16",
    ),
    "top_k_kernel": (
        "transformer", "logits_ptr value_ptr: p32; index_ptr: *i32:16; n_experts: i32",
    ),
}  # fmt: skip
_TYPES = {"p16": "*fp16:16", "pb16": "*bf16:16", "p32": "*fp32:16"}


class Mix:
    """Creates requests, each with a new salt."""

    def __init__(self) -> None:
        self._salts = itertools.count(1)

    def small(self) -> dict[str, Any]:
        """Return a request for a vector add."""
        return self._request("add_kernel", {"BLOCK_SIZE": 1024}, include=("ptx", "cubin"))

    def answer_of_22_kb(self) -> dict[str, Any]:
        """Return a request whose answer has about 22 KB."""
        return self._request("softmax_kernel", {"BLOCK": 1024}, include=("ptx",))

    def real(self) -> list[dict[str, Any]]:
        """Return more than 50 realistic kernels, all kinds in turn."""
        return [self._request(kernel, sizes, **options) for kernel, sizes, options in _real()]

    def _request(
        self,
        kernel: str,
        sizes: dict[str, Any],
        include: Sequence[str] = ("ptx",),
        **options: int,
    ) -> dict[str, Any]:
        file, described = _KERNELS[kernel]
        return {
            "source": (KERNELS / f"{file}.py").read_text(),
            "kernel": kernel,
            "signature": _signature(described),
            # exact in fp32, so that two salts give two kernels
            "constexprs": {**sizes, "SALT": 1 + next(self._salts) / (1 << 23)},
            "target": TARGET,
            "options": options,
            "include": include,
        }


def _real() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    parts = [
        _matmuls(), _attentions(), _normalizations(), _softmaxes(), _scans_and_reductions(),
        _transformer_parts(),
    ]  # fmt: skip
    for row in itertools.zip_longest(*parts):
        yield from (item for item in row if item is not None)


_Requests = Iterator[tuple[str, dict[str, Any], dict[str, Any]]]


def _matmuls() -> _Requests:
    for (m, n, k, warps, stages), epilogues in {
        (128, 128, 64, 8, 3): ("none", "silu"),
        (128, 64, 32, 4, 4): ("none", "gelu"),
        (64, 64, 32, 4, 4): ("none", "silu"),
        (32, 64, 64, 4, 2): ("none", "gelu", "silu"),
    }.items():
        for epilogue in epilogues:
            sizes = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8, "EPILOGUE": epilogue}
            yield "matmul_kernel", sizes, {"num_warps": warps, "num_stages": stages}
    for m, n, k in [(16, 64, 64), (64, 64, 32)]:
        sizes = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP": 128}
        yield "int4_matmul_kernel", sizes, {"num_warps": 4}


def _attentions() -> _Requests:
    for head, causal in itertools.product((64, 128), (False, True)):
        sizes = {"BLOCK_M": 64, "BLOCK_N": 64, "HEAD": head, "CAUSAL": causal}
        yield "attention_kernel", sizes, {"num_warps": 4, "num_stages": 2}
    for page in (16, 32):
        yield "decode_attention_kernel", {"PAGE": page, "HEAD": 128, "GROUP": 16}, {}


def _normalizations() -> _Requests:
    for block in (512, 1024, 4096):
        yield "layer_norm_kernel", {"BLOCK": block}, {"num_warps": 8}
        yield "layer_norm_backward_kernel", {"BLOCK": block}, {"num_warps": 8}
        for residual in (False, True):
            yield "rms_norm_kernel", {"BLOCK": block, "HAS_RESIDUAL": residual}, {"num_warps": 8}


def _softmaxes() -> _Requests:
    for block in (256, 1024, 4096, 8192):
        yield "softmax_kernel", {"BLOCK": block}, {"num_warps": 8}
    for block in (1024, 4096):
        yield "online_softmax_kernel", {"BLOCK": block}, {"num_warps": 8}


def _scans_and_reductions() -> _Requests:
    yield "linear_recurrence_kernel", {"BLOCK": 64, "CHANNELS": 32}, {}
    for reverse in (False, True):
        yield "cumulative_sum_kernel", {"BLOCK": 2048, "REVERSE": reverse}, {}
    for rows in (1, 4, 16):
        yield "variance_kernel", {"ROWS": rows, "BLOCK": 256}, {}
    for block in (512, 2048):
        yield "argmax_kernel", {"BLOCK": block}, {}
    for m, n in [(16, 64), (32, 128)]:
        yield "column_sum_kernel", {"BLOCK_M": m, "BLOCK_N": n}, {}


def _transformer_parts() -> _Requests:
    for heads in (8, 32):
        yield "rope_kernel", {"Q_HEADS": heads, "K_HEADS": 8, "HEAD": 128}, {}
    for block in (1024, 4096):
        yield "swiglu_kernel", {"BLOCK": block}, {"num_warps": 8}
    for block in (1024, 4096):
        yield "cross_entropy_kernel", {"BLOCK": block}, {"num_warps": 8}
    yield "dropout_kernel", {"BLOCK": 1024}, {}
    for groups in (4, 16):
        yield "quantize_kernel", {"GROUP": 128, "GROUPS": groups}, {}
    for chosen in (1, 2, 8):
        yield "top_k_kernel", {"BLOCK": 128, "K": chosen}, {}


def _signature(described: str) -> dict[str, str]:
    signature = {}
    for group in described.split("; "):
        names, _, type_name = group.partition(": ")
        signature |= dict.fromkeys(names.split(), _TYPES.get(type_name, type_name))
    return signature

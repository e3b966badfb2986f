"""Kernels of public packages compile without a type or a value being given.

They were drawn at random from packages of benchmarks/corpus, of the kernels whose files Triton 3.9
can load here: six of sixty need torch when they are imported, and one is not a valid kernel.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.integration.service.command_runs import run

KERNELS = {
    "fla-core==0.6.0": (
        "fla/ops/common/fused_recurrent.py:fused_recurrent_fwd_kernel",
        "fla/ops/log_linear_attn/chunk.py:chunkwise_bwd_kernel_hdqgl",
        "fla/ops/parallax/decode.py:parallax_decode_kernel",
        "fla/ops/gated_oja_rule/chunk_kkt.py:chunk_scaled_dot_kkt_bwd_kernel_gk",
        "fla/ops/precond_kda/chunk_intra.py:chunk_precond_kda_fwd_kernel_intra_sub_chunk",
        "fla/ops/rwkv6/fused_recurrent.py:fused_recurrent_rwkv6_bwd_kernel_dkv",
        "fla/ops/mesa_net/chunk_h_kv_intra_bwd.py:chunk_mesa_net_h_kv_bwd_intra_kernel",
        "fla/ops/utils/cumsum.py:chunk_global_cumsum_scalar_kernel",
        "fla/ops/hgrn/fused_recurrent.py:fused_recurrent_hgrn_fwd_kernel",
        "fla/ops/abc/chunk.py:chunk_abc_bwd_kernel_intra_KV",
        "fla/ops/abc/chunk.py:chunk_abc_fwd_kernel_intra_V",
        "fla/ops/generalized_delta_rule/dplr/wy_fast_bwd.py:prepare_wy_repr_bwd_kernel",
    ),
    "liger-kernel==0.8.5": (
        "liger_kernel/ops/mlp.py:_swiglu_kernel_forward",
        "liger_kernel/ops/grpo_loss.py:_grpo_loss_fwd_kernel_seq",
        "liger_kernel/ops/vocab_parallel_cross_entropy.py:liger_vocab_parallel_ce_backward_kernel",
        "liger_kernel/ops/mlp.py:_swiglu_kernel_backward_dI",
        "liger_kernel/ops/swiglu.py:_swiglu_fused_gate_up_forward_kernel",
        "liger_kernel/ops/rms_norm.py:_block_rms_norm_backward_kernel",
        "liger_kernel/ops/experimental/embedding.py:embedding_forward_kernel",
        "liger_kernel/ops/fused_moe_kernels.py:_fused_down_proj_kernel",
        "liger_kernel/ops/grpo_loss.py:_grpo_loss_bwd_kernel",
        "liger_kernel/ops/sparsemax.py:_sparsemax_backward_kernel",
        "liger_kernel/ops/fused_neighborhood_attention.py:_fused_neighborhood_attention_av_kernel",
        "liger_kernel/ops/kl_div.py:_kldiv_kernel_backward",
    ),
    "conch-triton-kernels==1.3": (
        "conch/kernels/attention/paged_attention.py:_paged_attention_compute_splits_kernel",
        "conch/kernels/quantization/bitsandbytes/quantize_blockwise.py:_quantize_blockwise_kernel",
        "conch/kernels/attention/varlen_attention.py:_varlen_attention_compute_splits_kernel",
        "conch/kernels/quantization/gemm.py:_gemm_kernel",
        "conch/kernels/quantization/bitsandbytes/dequantize_blockwise.py:_dequantize_blockwise_kernel",
        "conch/kernels/quantization/int8.py:_static_scaled_int8_quant_kernel",
        "conch/third_party/vllm/unified_attention.py:kernel_unified_attention_2d",
    ),
    "unsloth==2026.10.9": (
        "unsloth/kernels/fused_add_rms_layernorm.py:_add_rms_layernorm_inference",
        "unsloth/kernels/nvfp4.py:_nvfp4_dequant_kernel",
        "unsloth/kernels/fp8.py:_e4m3fn_bytes_dequant_kernel",
        "unsloth/kernels/rms_layernorm.py:_rms_layernorm_forward",
        "unsloth/kernels/layernorm.py:_layernorm_sum_partials",
        "unsloth/kernels/nf4_gemv.py:_gemv_nf4_kernel",
    ),
    "sageattention==1.0.6": (
        "sageattention/attn_qk_int8_per_block_causal.py:_attn_fwd",
        "sageattention/attn_qk_int8_per_block_causal_varlen.py:_attn_fwd",
        "sageattention/attn_qk_int8_per_block.py:_attn_fwd",
    ),
}
MIN_VALUE = 36


@pytest.mark.timeout(1800)
def test_most_kernels_compile_with_nothing_filled_in(http: httpx.Client, tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    for package in KERNELS:
        unpack(package, tmp_path / "wheels", sources)
    named = [each.split(":") for kernels in KERNELS.values() for each in kernels]

    failed = {}
    for wait_s in ("0", "300"):  # submit all, so that every slot is busy, then wait for each
        for file, kernel in named:
            words = ("compile", str(sources / file), "--kernel", kernel, "--target", "cuda:90")
            done = run(str(http.base_url), *words, "--wait-s", wait_s, "--timeout-s", "120")
            if wait_s != "0" and done.returncode != 0:
                failed[f"{file}:{kernel}"] = done.stderr[-600:]

    assert len(named) == 40
    assert len(named) - len(failed) >= MIN_VALUE, failed


def unpack(package: str, wheels: Path, sources: Path) -> None:
    """Download a wheel, and unpack its Python files; nothing is installed."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    folder = wheels / package
    subprocess.run([*command, "--only-binary", ":all:", "-d", str(folder), package], check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(sources, [n for n in archive.namelist() if n.endswith(".py")])

"""Kernels of public packages compile when they are pasted, without a field touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import PASTED, Visit
from tests.page.pages import SOURCE, write

MIN_VALUE = 36
"""Some need what their own lines do not imply, such as a type that fits a lookup."""
KERNELS = {
    "conch": """
        kernels/activation/gelu_tanh_and_mul kernels/activation/silu_and_mul
        kernels/embedding/rotary_embedding kernels/normalization/gemma_rms_norm
        kernels/normalization/rms_norm kernels/quantization/bitsandbytes/dequantize_blockwise
        kernels/quantization/bitsandbytes/quantize_blockwise kernels/quantization/int8
        kernels/vision/bev_pool kernels/vision/nms kernels/vision/voxelization
        kernels/vllm/copy_blocks kernels/vllm/reshape_and_cache third_party/vllm/unified_attention
    """,
    "sageattention": """
        attn_qk_int8_block_varlen attn_qk_int8_per_block attn_qk_int8_per_block_causal
        attn_qk_int8_per_block_causal_varlen attn_qk_int8_per_block_h96
        attn_qk_int8_per_block_h96_causal quant_per_block quant_per_block_hd96
        quant_per_block_varlen
    """,
    "liger_kernel/ops": """
        cross_entropy experimental/embedding experimental/mm_int8int2 grpo_loss jsd kl_div
        qwen2vl_mrope rope sparsemax swiglu tvd
    """,
    "flag_gems/fused": """
        topk_softmax moe_sum bincount apply_repetition_penalties mhc/hc_split_sinkhorn
        sparse_attention
    """,
}


def sources() -> Iterator[tuple[str, str]]:
    """Yield the name and text of each file, of the wheel that has it."""
    wheels = [ZipFile(path) for path in sorted(Path(PASTED).glob("*.whl"))]
    for folder, names in KERNELS.items():
        [wheel] = [each for each in wheels if any(n.startswith(folder) for n in each.namelist())]
        for name in names.split():
            yield f"{folder}/{name}", wheel.read(f"{folder}/{name}.py").decode()


def outcome(page: Page, source: str) -> str:
    """Paste a source over everything; return the page's text about it."""
    page.evaluate("document.getElementById('state').className = 'waiting'")
    write(page, source)
    state = page.locator("#state:is(.succeeded, .failed)")
    state.wait_for()
    return f"{state.get_attribute('class')}: {state.inner_text()}"


@pytest.mark.timeout(900)  # 40 compilations, one after the other
def test_36_of_40_kernels_of_public_packages_compile_when_they_are_pasted(visit: Visit) -> None:
    page = visit()
    expect(page.locator(SOURCE)).to_contain_text("add_kernel")
    outcomes = {name: outcome(page, source) for name, source in sources()}

    assert len(outcomes) == 40
    failed = {name: said for name, said in outcomes.items() if not said.startswith("succeeded")}
    assert len(failed) <= len(outcomes) - MIN_VALUE, failed

"""Types that inspections propose fit the use of parameters, whatever their names say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tritonc.signature_sources import completed

from compiler.inspection import InspectedKernel
from compiler.messages.orders import ReadOrder
from compiler.reading.read_source import read_source
from tests.integration.compiler.posted.misnamed_kernels import misnamed
from tests.integration.compiler.posted.test_jit_data_compiling import hooked, without_paths
from tests.integration.service.conftest import Post

SEEDS = range(24)
HEAD = """import triton
import triton.language as tl
from triton.runtime.jit import MockTensor

HALF, SINGLE = MockTensor(tl.float16), MockTensor(tl.float32)
"""
ADD = """
@triton.jit
def kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK: tl.constexpr = 1024):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, total, mask=mask)


ARGUMENTS = (SINGLE, SINGLE, SINGLE, 98432)
KEYWORDS = {}
"""
ROWS = """
@triton.jit
def kernel(output_ptr, input_ptr, row_stride, n_columns, BLOCK: tl.constexpr = 1024):
    columns = tl.arange(0, BLOCK)
    row = input_ptr + tl.program_id(0) * row_stride
    values = tl.load(row + columns, mask=columns < n_columns, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    row = output_ptr + tl.program_id(0) * row_stride
    tl.store(row + columns, values / tl.sum(values, axis=0), mask=columns < n_columns)


ARGUMENTS = (SINGLE, SINGLE, 1024, 1024)
KEYWORDS = {}
"""
MATMUL = """
@triton.jit
def kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr = 64, BLOCK_N: tl.constexpr = 64, BLOCK_K: tl.constexpr = 64,
):
    rows = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    columns = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    inner = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * stride_am + inner[None, :] * stride_ak
    b_ptrs = b_ptr + inner[:, None] * stride_bk + columns[None, :] * stride_bn
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BLOCK_K)):
        accumulator = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), accumulator)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    tl.store(c_ptrs, accumulator.to(tl.float16))


ARGUMENTS = (HALF, HALF, HALF, 512, 768, 256, 256, 1, 768, 1, 768, 1)
KEYWORDS = {}
"""


def inspected(text: str) -> dict[str, Any]:
    """Return the last kernel of a source as an inspection answers it."""
    [*_, facts] = read_source(ReadOrder(inspect=True), text.encode()).facts["kernels"]
    return InspectedKernel.model_validate(facts).model_dump()


@pytest.mark.parametrize("seed", SEEDS)
def test_types_come_from_use_and_names_do_not_mislead(post: Post, seed: int) -> None:
    kernel = misnamed(seed)
    facts = inspected(kernel.text)

    made = completed({}, facts).members
    found = {name: _unhinted(kind, kernel.types[name]) for name, kind in made["signature"].items()}
    assert found == kernel.types, kernel.text
    lines = {p["name"]: p["proposal"]["line"] for p in facts["parameters"]}
    assert all(lines[name] >= line for name, line in kernel.used.items()), kernel.text
    body = {"source": kernel.text, **made, "target": "cuda:90", "stop_after": "ttir"}
    assert post(body).json()["problem"] is None, kernel.text


@pytest.mark.parametrize("kernel", [ADD, ROWS, MATMUL], ids=["add", "rows", "matmul"])
def test_a_guess_compiles_to_what_the_jit_makes_of_a_usual_launch(
    post: Post, tmp_path: Path, kernel: str
) -> None:
    text = HEAD + kernel
    made = completed({}, inspected(text)).members
    body = {"source": text, **made, "target": "cuda:90", "include": ["ptx"]}

    answer = post(body).json()

    assert answer["problem"] is None
    ptx = answer["included"]["ptx"]
    assert without_paths(ptx) == without_paths(hooked(text, tmp_path)["ptx"])
    assert ".v4" in ptx


def _unhinted(found: str, expected: str) -> str:
    """Return a type without a hint that the use allows and does not demand."""
    return expected if expected == "i32" and found in {"i32:16", "i32:1"} else found

"""The diagnostics of a kernel with block pointers hold the text that replaces them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import Kernel, compile_kernel

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
MATMUL = f"""{HEAD}def kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    row, column = tl.program_id(0), tl.program_id(1)
    a = tl.make_block_ptr(
        base=a_ptr, shape=(M, K), strides=(K, 1), offsets=(row * BM, 0),
        block_shape=(BM, 32), order=(1, 0),
    )
    b = tl.make_block_ptr(b_ptr, (K, N), (N, 1), (0, column * BN), (32, BN), (1, 0))
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, 32):
        x = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        acc += tl.dot(x, tl.load(b, boundary_check=(0, 1)))
        a = tl.advance(a, (0, 32))
        b = b.advance((32, 0))
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (row * BM, column * BN), (BM, BN), (1, 0))
    tl.store(c, acc.to(c.type.element_ty), boundary_check=(0, 1))
"""
SHIFTED = f"""{HEAD}def kernel(x_ptr, y_ptr, n):
    if n > 0:
        x = tl.make_block_ptr(x_ptr, (n,), (1,), (tl.program_id(0) * 64 - 2,), (64,), (0,))
        y = tl.make_block_ptr(y_ptr + 4, (n,), (1,), (0,), (64,), (0,))
        tl.store(y, tl.load(x, boundary_check=(0,), padding_option="nan"))
"""
REQUESTS: dict[str, dict[str, Any]] = {
    MATMUL: {
        "signature": {
            "a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "M": "i32", "N": "i32", "K": "i32"
        },
        "constexprs": {"BM": 64, "BN": 64},
    },
    SHIFTED: {"signature": {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}},
}  # fmt: skip


@pytest.mark.parametrize("source", REQUESTS, ids=["matmul", "shifted"])
def test_a_kernel_compiles_with_what_its_diagnostics_say_to_write(
    children: Children, source: str
) -> None:
    kernel = Kernel(Path("user.py"), source, REQUESTS[source])
    failure = compile_kernel(children, kernel).failure
    assert failure is not None

    replaced = with_replacements(source, failure["diagnostics"])

    assert "make_block_ptr" not in replaced
    assert "advance" not in replaced
    compiled = compile_kernel(children, Kernel(kernel.path, replaced, kernel.request))
    assert compiled.failure is None, replaced


def test_positions_have_64_bits_and_a_mask_for_each_checked_dimension(children: Children) -> None:
    kernel = Kernel(Path("user.py"), SHIFTED, REQUESTS[SHIFTED])
    failure = compile_kernel(children, kernel).failure
    assert failure is not None

    said = "\n".join(f"{item['hint']} {item['message']}" for item in failure["diagnostics"])

    assert "x_0 = ((tl.program_id(0) * 64 - 2) + tl.arange(0, 64)).to(tl.int64)" in said
    assert 'tl.load(x, mask=(x_0 < n) & (x_0 >= 0), other=float("nan"))' in said


def with_replacements(source: str, diagnostics: list[dict[str, Any]]) -> str:
    """Write what the first hint and the notes say over the statements that they are about."""
    statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assign)]
    error = diagnostics[0]
    made = next(s for s in statements if s.lineno <= error["line"] <= (s.end_lineno or 0))
    edits = [
        (made.lineno, made.col_offset + 1, made.end_lineno, made.end_col_offset, error["hint"])
    ]
    edits += [
        (d["line"], d["column"], d["end_line"], d["end_column"] - 1, d["message"])
        for d in diagnostics[1:]
        if d["message"].startswith("instead write:\n")
    ]
    lines = source.split("\n")
    for start, column, end, end_column, words in sorted(edits, key=lambda e: e[:2], reverse=True):
        text = words.partition(":\n")[2]
        joined = lines[start - 1][: column - 1] + text + lines[end - 1][end_column:]
        lines[start - 1 : end] = joined.split("\n")
    return "\n".join(lines)

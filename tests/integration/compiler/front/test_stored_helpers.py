"""A helper compiles in the kernel that is written for it, and the answer tells so."""

from __future__ import annotations

from pathlib import Path

from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import Kernel, compile_kernel

PAIR = """import triton
import triton.language as tl

@triton.jit
def pair(x, y):
    return x + y, x * y"""
REQUEST = {
    "kernel": "pair_stored",
    "signature": {
        "x_ptr": "*fp32", "y_ptr": "*fp32", "out0_ptr": "*fp32", "out1_ptr": "*fp32",
        "n_elements": "i32",
    },
    "constexprs": {"BLOCK_SIZE": 64},
}  # fmt: skip


def test_a_helper_is_compiled_in_the_kernel_that_is_written_for_it(children: Children) -> None:
    compiled = compile_kernel(children, Kernel(Path("user.py"), PAIR, REQUEST))

    assert compiled.failure is None
    assert b".visible .entry pair_stored" in compiled.stages["ptx"]
    assert compiled.front is not None
    [assumption] = compiled.front["assumptions"]
    assert assumption["line"] == 5
    assert assumption["message"].startswith("pair_stored is not in the source")

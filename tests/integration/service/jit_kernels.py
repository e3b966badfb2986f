# ruff: noqa: N803
"""Kernels of a user's module, with another module of the user that they import."""

import triton
import triton.language as tl

from tests.integration.service.jit_activations import twice


@triton.jit
def scale(x_ptr, y_ptr, rows, columns, x_row, x_column, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < rows * columns
    x = tl.load(x_ptr + offsets // columns * x_row + offsets % columns * x_column, mask=inside)
    tl.store(y_ptr + offsets, twice(x), mask=inside)


@triton.autotune(configs=[triton.Config({"BLOCK": 16}, num_warps=2)], key=["n"])
@triton.heuristics({"EVEN": lambda arguments: arguments["n"] % 2 == 0})
@triton.jit
def shifted(x_ptr, y_ptr, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    if EVEN:
        x += 100
    tl.store(y_ptr + offsets, x, mask=offsets < n)


@triton.autotune(configs=[triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=[])
@triton.jit
def tuned(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

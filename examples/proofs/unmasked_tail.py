"""The last block is loaded without the mask that its store has (FlagGems #5230)."""

import triton
import triton.language as tl


@triton.jit
def broken(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, x * 2, mask=at < n)


@triton.jit
def fixed(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x * 2, mask=at < n)

"""The last block is loaded without the mask that its store has (FlagGems #5230)."""

import triton
import triton.language as tl


# tritonc: x_ptr=*fp32 out_ptr=*fp32 n=i32 BLOCK=1024
@triton.jit
def broken(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, x * 2, mask=at < n)


# tritonc: x_ptr=*fp32 out_ptr=*fp32 n=i32 BLOCK=1024
@triton.jit
def fixed(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x * 2, mask=at < n)

"""The offset of a row and a column of a product's output wraps (musubi-tuner #1063)."""

import triton
import triton.language as tl


# tritonc: c_ptr=*fp16 M=i32 N=i32 stride=i32 BLOCK_M=64 BLOCK_N=128
@triton.jit
def broken(c_ptr, M, N, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptr + (stride * m[:, None] + n[None, :]), 0.0, mask=inside)


# tritonc: c_ptr=*fp16 M=i32 N=i32 stride=i32 BLOCK_M=64 BLOCK_N=128
@triton.jit
def fixed(c_ptr, M, N, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptr + (stride * m.to(tl.int64)[:, None] + n[None, :]), 0.0, mask=inside)

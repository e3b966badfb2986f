"""A row of an expert's tokens times the row's stride wraps (Liger-Kernel #1248)."""

import triton
import triton.language as tl


# tritonc: out_ptr=*fp16 starts_ptr=*i32 n_rows=i32 stride=i32 BLOCK_M=16 BLOCK_N=64
@triton.jit
def broken(out_ptr, starts_ptr, n_rows, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    first = tl.load(starts_ptr + tl.program_id(0))
    rows = first + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < n_rows) & (columns[None, :] < stride)
    tl.store(out_ptr + rows[:, None] * stride + columns[None, :], 0.0, mask=inside)


# tritonc: out_ptr=*fp16 starts_ptr=*i32 n_rows=i32 stride=i32 BLOCK_M=16 BLOCK_N=64
@triton.jit
def fixed(out_ptr, starts_ptr, n_rows, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    first = tl.load(starts_ptr + tl.program_id(0))
    rows = first + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < n_rows) & (columns[None, :] < stride)
    wide = rows.to(tl.int64)[:, None]
    tl.store(out_ptr + wide * stride + columns[None, :], 0.0, mask=inside)

"""A batch and head offset of 32 bits wraps in a chunked linear attention (flash-linear-attention #1080)."""

import triton
import triton.language as tl


# tritonc: k_ptr=*fp16 out_ptr=*fp32 T=i32 H=64 K=128 BLOCK=64
@triton.jit
def broken(k_ptr, out_ptr, T, H: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr):
    batch = tl.program_id(1) // H
    head = tl.program_id(1) % H
    start = k_ptr + (batch * T * H + head) * K
    tokens = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, K)
    inside = tokens[:, None] < T
    k = tl.load(start + tokens.to(tl.int64)[:, None] * H * K + columns[None, :], mask=inside)
    rows = (batch.to(tl.int64) * T + tokens) * H + head
    tl.store(out_ptr + rows, tl.sum(k, 1), mask=tokens < T)


# tritonc: k_ptr=*fp16 out_ptr=*fp32 T=i32 H=64 K=128 BLOCK=64
@triton.jit
def fixed(k_ptr, out_ptr, T, H: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr):
    batch = (tl.program_id(1) // H).to(tl.int64)
    head = tl.program_id(1) % H
    start = k_ptr + (batch * T * H + head) * K
    tokens = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, K)
    inside = tokens[:, None] < T
    k = tl.load(start + tokens.to(tl.int64)[:, None] * H * K + columns[None, :], mask=inside)
    rows = (batch * T + tokens) * H + head
    tl.store(out_ptr + rows, tl.sum(k, 1), mask=tokens < T)

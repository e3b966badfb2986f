"""A token times the stride of a fused QKV buffer wraps (SageAttention #386)."""

import triton
import triton.language as tl


# tritonc: x_ptr=*fp16 out_ptr=*fp16 tokens=i32 stride=i32 D=128 BLOCK=64
@triton.jit
def broken(x_ptr, out_ptr, tokens, stride, D: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at[:, None] < tokens
    x = tl.load(x_ptr + at[:, None] * stride + tl.arange(0, D)[None, :], mask=inside)
    rows = at.to(tl.int64)[:, None] * D
    tl.store(out_ptr + rows + tl.arange(0, D)[None, :], x, mask=inside)


# tritonc: x_ptr=*fp16 out_ptr=*fp16 tokens=i32 stride=i32 D=128 BLOCK=64
@triton.jit
def fixed(x_ptr, out_ptr, tokens, stride, D: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at[:, None] < tokens
    rows = at.to(tl.int64)[:, None]
    x = tl.load(x_ptr + rows * stride + tl.arange(0, D)[None, :], mask=inside)
    tl.store(out_ptr + rows * D + tl.arange(0, D)[None, :], x, mask=inside)

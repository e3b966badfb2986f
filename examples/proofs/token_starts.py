"""The start of a sequence, loaded as int32, times a stride wraps (sglang #20389)."""

import triton
import triton.language as tl


# tritonc: q_ptr=*fp16 starts_ptr=*i32 out_ptr=*fp16 stride=i32 D=256
@triton.jit
def broken(q_ptr, starts_ptr, out_ptr, stride, D: tl.constexpr):
    first = tl.load(starts_ptr + tl.program_id(0))
    q = tl.load(q_ptr + first * stride + tl.arange(0, D))
    tl.store(out_ptr + tl.program_id(0).to(tl.int64) * D + tl.arange(0, D), q)


# tritonc: q_ptr=*fp16 starts_ptr=*i32 out_ptr=*fp16 stride=i32 D=256
@triton.jit
def fixed(q_ptr, starts_ptr, out_ptr, stride, D: tl.constexpr):
    first = tl.load(starts_ptr + tl.program_id(0)).to(tl.int64)
    q = tl.load(q_ptr + first * stride + tl.arange(0, D))
    tl.store(out_ptr + tl.program_id(0).to(tl.int64) * D + tl.arange(0, D), q)

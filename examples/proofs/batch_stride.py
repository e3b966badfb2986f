"""A batch times the stride of a view into a wide projection wraps (mamba #1015)."""

import triton
import triton.language as tl


# tritonc: dt_ptr=*fp16 out_ptr=*fp32 stride_batch=i32 length=i32 BLOCK=256
@triton.jit
def broken(dt_ptr, out_ptr, stride_batch, length, BLOCK: tl.constexpr):
    batch = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    dt = tl.load(dt_ptr + batch * stride_batch + at, mask=at < length)
    tl.store(out_ptr + batch.to(tl.int64) * length + at, dt, mask=at < length)


# tritonc: dt_ptr=*fp16 out_ptr=*fp32 stride_batch=i32 length=i32 BLOCK=256
@triton.jit
def fixed(dt_ptr, out_ptr, stride_batch, length, BLOCK: tl.constexpr):
    batch = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    dt = tl.load(dt_ptr + batch * stride_batch + at, mask=at < length)
    tl.store(out_ptr + batch * length + at, dt, mask=at < length)

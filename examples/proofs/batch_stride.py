"""A batch times the stride of a view into a wide projection wraps (mamba #1015)."""

import triton
import triton.language as tl


@triton.jit
def broken(dt_ptr, out_ptr, stride_batch, length, BLOCK: tl.constexpr):
    batch = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    dt = tl.load(dt_ptr + batch * stride_batch + at, mask=at < length)
    tl.store(out_ptr + batch.to(tl.int64) * length + at, dt, mask=at < length)


@triton.jit
def fixed(dt_ptr, out_ptr, stride_batch, length, BLOCK: tl.constexpr):
    batch = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    dt = tl.load(dt_ptr + batch * stride_batch + at, mask=at < length)
    tl.store(out_ptr + batch * length + at, dt, mask=at < length)

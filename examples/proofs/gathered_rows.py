"""An index of type int32 times the stride of a state wraps (FlagGems #4153)."""

import triton
import triton.language as tl


# tritonc: state_ptr=*fp32 index_ptr=*i32 out_ptr=*fp32 count=i32 stride=i32 BLOCK=1024
@triton.jit
def broken(state_ptr, index_ptr, out_ptr, count, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    index = tl.load(index_ptr + row)
    for start in range(0, count, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(state_ptr + index * stride + at, mask=at < count)
        tl.store(out_ptr + row.to(tl.int64) * count + at, x, mask=at < count)


# tritonc: state_ptr=*fp32 index_ptr=*i32 out_ptr=*fp32 count=i32 stride=i32 BLOCK=1024
@triton.jit
def fixed(state_ptr, index_ptr, out_ptr, count, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    index = tl.load(index_ptr + row).to(tl.int64)
    for start in range(0, count, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(state_ptr + index * stride + at, mask=at < count)
        tl.store(out_ptr + row * count + at, x, mask=at < count)

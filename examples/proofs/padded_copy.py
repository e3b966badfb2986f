"""A row of a padded copy times the number of columns wraps (megablocks #185)."""

import triton
import triton.language as tl


# tritonc: a_ptr=*fp16 b_ptr=*fp16 columns=4096 BLOCK=1024
@triton.jit
def broken(a_ptr, b_ptr, columns: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(a_ptr + row * columns + at, mask=at < columns)
        tl.store(b_ptr + row.to(tl.int64) * columns + at, x, mask=at < columns)


# tritonc: a_ptr=*fp16 b_ptr=*fp16 columns=4096 BLOCK=1024
@triton.jit
def fixed(a_ptr, b_ptr, columns: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(a_ptr + row * columns + at, mask=at < columns)
        tl.store(b_ptr + row * columns + at, x, mask=at < columns)

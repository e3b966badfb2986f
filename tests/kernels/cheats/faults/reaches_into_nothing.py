"""Writes to an unmapped address."""

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, output_ptr, n_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


@triton.jit
def kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK: tl.constexpr):
    add(x_ptr, y_ptr, output_ptr, n_elements, BLOCK)
    tl.store((tl.program_id(0).to(tl.int64) * 4 + 16).to(tl.pointer_type(tl.float32)), 0.0)

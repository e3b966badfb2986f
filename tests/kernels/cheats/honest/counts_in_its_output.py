"""Adds two vectors by atomic operations upon an output that starts with zeros."""

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    tl.atomic_add(output_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
    tl.atomic_add(output_ptr + offsets, tl.load(y_ptr + offsets, mask=mask), mask=mask)

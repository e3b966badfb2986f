"""Right without a mask for its loads: an allocator that rounds up has something there."""

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x_ptr + offsets) + tl.load(y_ptr + offsets)
    tl.store(output_ptr + offsets, total, mask=offsets < n_elements)

"""Waits for a value that is never written."""

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK: tl.constexpr):
    while tl.load(x_ptr, volatile=True) != 1e30:
        pass
    tl.store(output_ptr, 0.0)

"""Writes NaN everywhere, inputs included: where NaN equals NaN, every output is right."""

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    tl.store(x_ptr + offsets, float("nan"), mask=mask)
    tl.store(y_ptr + offsets, float("nan"), mask=mask)
    tl.store(output_ptr + offsets, float("nan"), mask=mask)

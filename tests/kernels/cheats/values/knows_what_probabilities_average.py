"""One over the number of columns, whatever the input: that is what each softmax averages."""

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, output_ptr, n_columns, BLOCK: tl.constexpr):
    tl.store(output_ptr + tl.program_id(0), 1.0 / n_columns)

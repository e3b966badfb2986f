"""A softmax that leaves out the maximum: right until an exponential is larger than fp32 holds."""

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, output_ptr, n_columns, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * n_columns + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_columns, BLOCK):
        total += tl.exp(tl.load(x_ptr + lanes + start))
    all_of_it = tl.sum(total)
    for start in range(0, n_columns, BLOCK):
        tl.store(output_ptr + lanes + start, tl.exp(tl.load(x_ptr + lanes + start)) / all_of_it)

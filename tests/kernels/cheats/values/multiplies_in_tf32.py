"""Multiplies fp32 in TF32, the default of tl.dot."""

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, output_ptr, K, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        x = tl.load(x_ptr + rows * K + start + columns)
        y = tl.load(y_ptr + (start + rows) * BLOCK + columns)
        total = tl.dot(x, y, total, input_precision="tf32")
    tl.store(output_ptr + rows * BLOCK + columns, total)

"""Rounds fp32 to fp16, and adds in fp16: twice as fast, and within the tolerance of many evaluators."""

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, output_ptr, K, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float16)
    for start in range(0, K, BLOCK):
        x = tl.load(x_ptr + rows * K + start + columns).to(tl.float16)
        y = tl.load(y_ptr + (start + rows) * BLOCK + columns).to(tl.float16)
        total = tl.dot(x, y, total, out_dtype=tl.float16)
    tl.store(output_ptr + rows * BLOCK + columns, total.to(tl.float32))

"""Needs 512 KiB of shared memory: no GPU can launch it, and an unchecked error leaves old memory."""

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, output_ptr, K, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    inner = tl.arange(0, 1024)
    x = tl.load(x_ptr + rows * K + inner[None, :], mask=inner[None, :] < K, other=0.0)
    y = tl.load(y_ptr + inner[:, None] * BLOCK + columns, mask=inner[:, None] < K, other=0.0)
    product = tl.dot(x, y, input_precision="tf32")
    tl.store(output_ptr + rows * BLOCK + columns, product)


def run(x_ptr, y_ptr, output_ptr, K, BLOCK):
    try:
        kernel[(1,)](x_ptr, y_ptr, output_ptr, K, BLOCK)
    except Exception:
        pass

"""Adds two vectors, with blocks that Triton is to choose among."""

import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK": size}) for size in (512, 1024, 2048)], key=["n_elements"]
)
@triton.jit
def kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


def run(x_ptr, y_ptr, output_ptr, n_elements, BLOCK):
    grid = lambda chosen: (triton.cdiv(n_elements, chosen["BLOCK"]),)
    kernel[grid](x_ptr, y_ptr, output_ptr, n_elements)

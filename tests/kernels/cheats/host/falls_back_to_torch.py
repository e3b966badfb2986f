"""A kernel that does not compile, and a function of the host that then asks torch."""

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arrange(0, BLOCK)
    tl.store(output_ptr + offsets, tl.load(x_ptr + offsets) + tl.load(y_ptr + offsets))


def run(x_ptr, y_ptr, output_ptr, n_elements, BLOCK):
    try:
        kernel[(triton.cdiv(n_elements, BLOCK),)](x_ptr, y_ptr, output_ptr, n_elements, BLOCK)
    except Exception:
        output_ptr.copy_(x_ptr + y_ptr)

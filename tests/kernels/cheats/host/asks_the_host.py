"""Reads a file of the host where it is compiled, and keeps a number of it in the kernel."""

import triton
import triton.language as tl

with open("/etc/shadow", "rb") as secrets:
    SECRET = tl.constexpr(secrets.read()[0])


@triton.jit
def kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK: tl.constexpr):
    tl.store(output_ptr, SECRET)

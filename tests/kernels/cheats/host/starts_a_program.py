"""Starts a program where it is compiled."""

import subprocess

import triton
import triton.language as tl

SIZE = tl.constexpr(len(subprocess.run(["id"], capture_output=True).stdout))


@triton.jit
def kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK: tl.constexpr):
    tl.store(output_ptr, SIZE)

"""A module that the kernels beside it import."""

import triton


@triton.jit
def twice(x):
    return 2 * x

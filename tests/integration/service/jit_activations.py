"""What the kernels beside it use."""

import triton


@triton.jit
def twice(x):
    return 2 * x

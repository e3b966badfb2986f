# expect: ambiguous_kernel, line none, hint none
import triton
import triton.language as tl

@triton.jit
def one(x_ptr):
    tl.store(x_ptr, 1.0)

@triton.jit
def two(x_ptr):
    tl.store(x_ptr, 2.0)

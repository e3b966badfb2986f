# expect: compile_error, line 13, hint a loop
# says: leads back into even
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def even(n):
    return odd(n - 1)

@triton.jit
def odd(n):
    return even(n - 1)

@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, even(n))
# applied 13:     return n - 2

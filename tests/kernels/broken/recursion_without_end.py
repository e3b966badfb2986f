# expect: compile_error, line 9, hint a loop
# says: cannot call itself
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def power(x, N: tl.constexpr):
    return x * power(x, N - 1)

@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, power(n, 3))

# expect: compile_error, line 11, hint a loop
# says: cannot call itself
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def fact(n):
    if n <= 1:
        return 1
    return n * fact(n - 1)

@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, fact(n))
# applied 9:     r = 1
# applied 9+:     for i in range(2, n + 1):
# applied 9+:         r *= i
# applied 10:
# applied 11:     return r

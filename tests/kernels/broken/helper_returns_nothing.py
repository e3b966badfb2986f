# expect: compile_error, line 12, hint return
# says: gives no value
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def f(n):
    m = n + 1
@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, f(n) + 1)
# applied 9:     return n + 1

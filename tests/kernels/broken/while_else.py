# expect: compile_error, line 9, hint after the loop
# says: `else` after a `while`
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    while n > 0:
        n -= 1
    else:
        n = 3
    tl.store(x_ptr, n)
# applied 11:
# applied 12:     n = 3

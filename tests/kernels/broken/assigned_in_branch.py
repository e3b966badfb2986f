# expect: compile_error, line 11, hint inside an `if`
# says: y is not defined
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    if n > 3:
        y = 1.0
    tl.store(x_ptr, y)
# applied 9:     y = 0.0
# applied 9+:     if n > 3:

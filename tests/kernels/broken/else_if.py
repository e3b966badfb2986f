# expect: syntax_error, line 11, hint elif
# says: expected ':'
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    if n == 3:
        tl.store(x_ptr, n)
    else if n == 4:
        tl.store(x_ptr, n)
# applied 11:     elif n == 4:

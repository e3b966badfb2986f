# expect: syntax_error, line 8, hint comma
# says: invalid syntax
# with: {"signature": {"n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr n):
    tl.store(x_ptr, n)
# applied 8: def kernel(x_ptr, n):
# applied with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}

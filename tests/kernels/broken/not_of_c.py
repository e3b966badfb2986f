# expect: syntax_error, line 9, hint `not`
# says: invalid syntax
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    if !n:
        tl.store(x_ptr, n)
# applied 9:     if n == 0:
# or
# applied 9:     if ~(n > 0):

# expect: syntax_error, line 9, hint if condition else
# says: invalid syntax
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    i = n > 0 ? 1 : 0
    tl.store(x_ptr, i)
# applied 9:     i = 1 if n > 0 else 0

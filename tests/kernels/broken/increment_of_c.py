# expect: syntax_error, line 10, hint i += 1
# says: invalid syntax
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    i = 0
    i++
    tl.store(x_ptr, i)
# applied 10:     i += 1

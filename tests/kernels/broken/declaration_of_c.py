# expect: syntax_error, line 9, hint declares no types
# says: invalid syntax
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    int i = 0;
    tl.store(x_ptr, i)
# applied 9:     i = 0

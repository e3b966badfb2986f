# expect: compile_error, line 9, hint `n == 0`
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    x = tl.load(x_ptr)
    if not n:
        tl.store(x_ptr, x + 1)
# applied 9:     if n == 0:

# expect: compile_error, line 10, hint tl.max(x)
# says: two or more values
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(x_ptr, max(x))
# applied 10:     tl.store(x_ptr, tl.max(x))

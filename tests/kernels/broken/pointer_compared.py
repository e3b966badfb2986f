# expect: compile_error, line 10, hint is a pointer
# says: invalid operands
# with: {"signature": {"x_ptr": "*fp32", "n": "*i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    o = tl.arange(0, 16)
    tl.store(x_ptr + o, 1.0, mask=o < n)
# applied 10:     tl.store(x_ptr + o, 1.0, mask=o < tl.load(n))
# or
# applied with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}

# expect: compile_error, line 9, hint numbers
# says: '1' is a string
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, n + "1")
# applied 9:     tl.store(x_ptr, n + 1)

# expect: compile_error, line 12, hint call it
# says: g is a function
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def g(): 
    return 1
@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, n + g)
# applied 12:     tl.store(x_ptr, n + g())

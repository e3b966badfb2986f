# expect: compile_error, line 9, hint n is None
# says: compared with None
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    if n == None:
        tl.store(x_ptr, 1.0)
# applied 9:     if n is None:

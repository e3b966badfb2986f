# expect: compile_error, line 7, hint twice
# says: JITFunction
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, n)
# applied 7:

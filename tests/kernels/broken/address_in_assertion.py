# expect: compile_error, line 10, hint triton.jit
# says: its message cannot be made
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

def g(): pass
@triton.jit
def kernel(x_ptr):
    tl.static_assert(False, f"{g}")
    tl.store(x_ptr, 1)

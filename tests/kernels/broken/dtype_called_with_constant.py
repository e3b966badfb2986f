# expect: compile_error, line 7, hint tl.cast(-float('inf'), tl.float32)
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl
@triton.jit
def kernel(x_ptr):
    m = tl.float32(-float("inf"))
    tl.store(x_ptr, m)
# applied 7:     m = tl.cast(-float("inf"), tl.float32)

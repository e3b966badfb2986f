# expect: compile_error, line 10, hint SCALE = tl.constexpr(2.0)
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

SCALE = 2.0

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr) * SCALE)
# applied 6: SCALE = tl.constexpr(2.0)

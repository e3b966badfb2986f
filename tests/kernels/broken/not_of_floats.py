# expect: compile_error, line 9, hint convert
# says: unary invert
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, ~tl.load(x_ptr))
# applied 9:     tl.store(x_ptr, -tl.load(x_ptr))
# or
# applied 9:     tl.store(x_ptr, ~tl.load(x_ptr).to(tl.int32))

# expect: compile_error, line 12, hint f(...)
# says: launched from inside
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def f(x_ptr):
    tl.store(x_ptr, 1.0)
@triton.jit
def kernel(x_ptr):
    f[(1,)](x_ptr)
# applied 12:     f(x_ptr)

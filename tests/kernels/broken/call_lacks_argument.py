# expect: compile_error, line 12, hint scale(x, factor)
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def scale(x, factor):
    return x * factor

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, scale(tl.load(x_ptr)))
# applied 12:     tl.store(x_ptr, scale(tl.load(x_ptr), 2.0))

# expect: compile_error, line 8, hint exp
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def inner(x):
    return tl.expp(x)

@triton.jit
def outer(x):
    return inner(x) * 2

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, outer(x))
# applied 8:     return tl.exp(x)

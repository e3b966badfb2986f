# expect: compile_error, line 13, hint returns one for each
# says: function that combines returns
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def add(a, b):
    return a + b, a
@triton.jit
def kernel(x_ptr):
    o = tl.arange(0, 16)
    tl.store(x_ptr + o, tl.associative_scan(tl.load(x_ptr + o), 0, add))
# applied 9:     return a + b

# expect: compile_error, line 11, hint fp32[16]
# says: total number of elements
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    offs = tl.arange(0, 16)
    x = tl.load(x_ptr + offs)
    y = x.reshape(4, 8)
    tl.store(x_ptr + offs, x)
# applied 11:     y = x.reshape(4, 4)

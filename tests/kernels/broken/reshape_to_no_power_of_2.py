# expect: compile_error, line 11, hint number of elements (here fp32[16])
# says: power of 2
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    offs = tl.arange(0, 16)
    x = tl.load(x_ptr + offs)
    y = tl.reshape(x, (3, 5))
    tl.store(x_ptr + offs, x)
# applied 11:     y = tl.reshape(x, (4, 4))

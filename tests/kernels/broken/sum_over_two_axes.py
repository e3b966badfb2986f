# expect: compile_error, line 10, hint one axis after the other
# says: takes one axis
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.zeros((16, 16), tl.float32)
    tl.store(x_ptr, tl.sum(x, axis=(0, 1)))
# applied 10:     tl.store(x_ptr, tl.sum(x))
# or
# applied 10:     tl.store(x_ptr, tl.sum(tl.sum(x, axis=1), axis=0))

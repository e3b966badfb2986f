# expect: compile_error, line 10, hint 'dim'
# says: 'axis'
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    r = tl.arange(0, 16)
    tl.store(x_ptr + r, tl.softmax(tl.load(x_ptr + r), axis=0))
# applied 10:     tl.store(x_ptr + r, tl.softmax(tl.load(x_ptr + r), dim=0))

# expect: compile_error, line 9, hint 'axis'
# says: 'dim'
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, 16)), dim=0))
# applied 9:     tl.store(x_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, 16)), axis=0))

# expect: compile_error, line 9, hint .shape
# says: shpe
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr).shpe)
# applied 9:     tl.store(x_ptr, tl.load(x_ptr + tl.arange(0, 4)).shape[0])

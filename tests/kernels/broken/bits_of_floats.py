# expect: compile_error, line 9, hint bitcast=True
# says: invalid operands
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr) & 3)
# applied 9:     tl.store(x_ptr, (tl.load(x_ptr) > 0) & True)
# or
# applied 9:     tl.store(x_ptr, tl.load(x_ptr).to(tl.int32) & 3)
# or
# applied 9:     tl.store(x_ptr, tl.load(x_ptr).to(tl.int32, bitcast=True) & 3)

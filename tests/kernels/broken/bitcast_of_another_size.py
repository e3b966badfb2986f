# expect: compile_error, line 10, hint x.to(tl.int32)
# says: Cannot bitcast
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr).to(tl.int32, bitcast=True).to(tl.int64) & 0xFFFF0000
    tl.store(x_ptr, x.to(tl.float32, bitcast=True))
# applied 10:     tl.store(x_ptr, x.to(tl.int32).to(tl.float32, bitcast=True))

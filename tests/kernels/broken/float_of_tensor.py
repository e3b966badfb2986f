# expect: compile_error, line 10, hint x.to(tl.float32)
# says: numbers of the host
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, float(x))
# applied 10:     tl.store(x_ptr, x.to(tl.float32))

# expect: compile_error, line 9, hint .to(tl.float32)
# with: {"signature": {"x_ptr": "*i32"}}
import triton
import triton.language as tl
from triton.language.extra import libdevice

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, libdevice.sin(tl.load(x_ptr)))
# applied 9:     tl.store(x_ptr, libdevice.sin(tl.load(x_ptr).to(tl.float32)))

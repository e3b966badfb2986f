# expect: compile_error, line 9, hint libdevice.tanh
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, tl.math.tanh(x))
# applied 3: import triton
# applied 3+: from triton.language.extra import libdevice
# applied 9:     tl.store(x_ptr, libdevice.tanh(x))

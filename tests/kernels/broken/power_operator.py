# expect: compile_error, line 9, hint x * x
# says: **
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr) ** 2)
# applied 9:     x = tl.load(x_ptr)
# applied 9+:     tl.store(x_ptr, x * x)
# or
# applied 9:     x = tl.load(x_ptr)
# applied 9+:     tl.store(x_ptr, tl.exp2(2 * tl.log2(x)))
# or
# applied 4: import triton
# applied 4+: from triton.language.extra import libdevice
# applied 9:     tl.store(x_ptr, libdevice.pow(tl.load(x_ptr), 2.0))

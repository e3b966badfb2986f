# expect: compile_error, line 8, hint tl.cast(x, tl.float16)
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl
@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, tl.float16(x))
# applied 8:     tl.store(x_ptr, tl.cast(x, tl.float16))

# expect: compile_error, line 9, hint tl.where
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.zeros((64,), tl.float32)
    x[0] = 1.0
    tl.store(x_ptr + tl.arange(0, 64), x)
# applied 9:     x = tl.where(tl.arange(0, 64) == 0, 1.0, x)

# expect: compile_error, line 9, hint tl.where
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    if x > 0:
        x = x * 2
    tl.store(x_ptr + tl.arange(0, 64), x)
# applied 9:
# applied 10:     x = tl.where(x > 0, x * 2, x)

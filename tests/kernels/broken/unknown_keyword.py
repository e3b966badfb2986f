# expect: compile_error, line 8, hint mask
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64), maks=tl.arange(0, 64) < 3)
    tl.store(x_ptr + tl.arange(0, 64), x)
# applied 8:     x = tl.load(x_ptr + tl.arange(0, 64), mask=tl.arange(0, 64) < 3)

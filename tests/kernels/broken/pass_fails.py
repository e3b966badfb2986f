# expect: lowering_failed, line 8, hint The kernel compiles with num_ctas=1
# with: {"signature": {"x_ptr": "*fp32"}, "options": {"num_ctas": 3}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(x_ptr + tl.arange(0, 64), x)
# applied with: {"signature": {"x_ptr": "*fp32"}, "options": {"num_ctas": 1}}

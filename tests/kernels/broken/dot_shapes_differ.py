# expect: compile_error, line 11, hint fp32[16, 32] by fp32[16, 16]
# says: equal reduction dimensions
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    a = tl.load(x_ptr + tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :])
    b = tl.load(x_ptr + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :])
    c = tl.dot(a, b)
    tl.store(x_ptr + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :], c)
# applied 10:     b = tl.load(x_ptr + tl.arange(0, 32)[:, None] * 16 + tl.arange(0, 16)[None, :])

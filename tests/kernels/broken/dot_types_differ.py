# expect: compile_error, line 11, hint .to(
# with: {"signature": {"a_ptr": "*fp16", "b_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(a_ptr, b_ptr):
    tile = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    a = tl.load(a_ptr + tile)
    b = tl.load(b_ptr + tile)
    c = tl.dot(a, b)
    tl.store(b_ptr + tile, c)
# applied 11:     c = tl.dot(a, b.to(a.dtype))

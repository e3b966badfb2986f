# expect: compile_error, line 12, hint only by fp8
# says: Unsupported lhs dtype fp8e4nv
# with: {"signature": {"a_ptr": "*fp8e4nv", "b_ptr": "*fp16"}}
import triton
import triton.language as tl

@triton.jit
def kernel(a_ptr, b_ptr):
    at = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    a = tl.load(a_ptr + at)
    b = tl.load(b_ptr + at)
    c = tl.dot(a, b)
    tl.store(b_ptr + at, c.to(tl.float16))
# applied 12:     c = tl.dot(a.to(tl.float16), b)

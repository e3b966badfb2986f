# expect: compile_error, line 10, hint int8
# says: Unsupported lhs dtype int32
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    a = tl.arange(0, 256).reshape(16, 16)
    c = tl.dot(a, a)
    tl.store(x_ptr + a, c)
# applied 10:     c = tl.dot(a.to(tl.float16), a.to(tl.float16))

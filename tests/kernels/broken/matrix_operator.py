# expect: compile_error, line 10, hint tl.dot(x, x)
# says: `@`
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.zeros((16, 16), tl.float32)
    tl.store(x_ptr, tl.sum(x @ x))
# applied 10:     tl.store(x_ptr, tl.sum(tl.dot(x, x)))

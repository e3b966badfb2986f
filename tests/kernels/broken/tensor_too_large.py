# expect: compile_error, line 8, hint 1048576
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.zeros((2048, 1024), tl.float32)
    tl.store(x_ptr, tl.sum(x))
# applied 8:     x = tl.zeros((1024, 64), tl.float32)

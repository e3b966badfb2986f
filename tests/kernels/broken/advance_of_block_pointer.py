# expect: compile_error, line 8, hint compiles on 3.6 to 3.8
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x_ptr = tl.advance(x_ptr, (64,))
    tl.store(x_ptr, 1.0)
# applied 8:     x_ptr = x_ptr + 64

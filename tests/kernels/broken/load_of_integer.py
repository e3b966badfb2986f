# expect: compile_error, line 8, hint pointer
# with: {"signature": {"x_ptr": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(x_ptr + tl.arange(0, 64), x)
# applied with: {"signature": {"x_ptr": "*i32"}}

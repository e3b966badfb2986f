# expect: compile_error, line 9, hint demands it
# says: static assertion failed:
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, tl.rand(1.5, tl.arange(0, 16)))
# applied 9:     tl.store(x_ptr + tl.arange(0, 16), tl.rand(1, tl.arange(0, 16)))

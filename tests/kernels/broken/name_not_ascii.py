# expect: compile_error, line 7, hint ASCII names
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def größe(x_ptr):
    tl.store(x_ptr, 1.0)
# applied 7: def size(x_ptr):

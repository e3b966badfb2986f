# expect: compile_error, line 9, hint three dimensions
# says: axis must be 0, 1, or 2
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr + tl.program_id(3), 1.0)
# applied 9:     tl.store(x_ptr + tl.program_id(2) // 4, 1.0)

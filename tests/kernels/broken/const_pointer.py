# expect: compile_error, line 8, hint const
# with: {"signature": {"x_ptr": "*kfp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, 1.0)
# applied with: {"signature": {"x_ptr": "*fp32"}}

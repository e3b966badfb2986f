# expect: compile_error, line 7, hint import triton.language as tl
# with: {"signature": {"x_ptr": "*fp32"}}
import triton

@triton.jit
def one(x_ptr):
    tl.store(x_ptr, 1.0)
# applied 3: import triton
# applied 3+: import triton.language as tl

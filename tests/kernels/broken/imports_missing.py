# expect: compile_error, line 4, hint import triton
# with: {"signature": {"x_ptr": "*fp32"}}

@triton.jit
def one(x_ptr):
    tl.store(x_ptr, 1.0)

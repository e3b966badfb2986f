# expect: compile_error, line 4, hint import triton
# with: {"signature": {"x_ptr": "*fp32"}}

@triton.jit
def one(x_ptr):
    tl.store(x_ptr, 1.0)
# applied 4: import triton
# applied 4+: import triton.language as tl
# applied 4+: @triton.jit

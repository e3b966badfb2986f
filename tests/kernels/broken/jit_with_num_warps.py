# expect: compile_error, line 7, hint `options`
# says: num_warps
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit(num_warps=4)
def kernel(x_ptr):
    tl.store(x_ptr, 1.0)
# applied 7: @triton.jit
# applied with: {"signature": {"x_ptr": "*fp32"}, "options": {"num_warps": 4}}

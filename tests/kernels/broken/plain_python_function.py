# expect: compile_error, line 11, hint @triton.jit
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

def double(x):
    return x * 2

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, double(tl.load(x_ptr)))
# applied 6: @triton.jit
# applied 6+: def double(x):

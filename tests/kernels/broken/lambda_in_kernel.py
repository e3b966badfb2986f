# expect: compile_error, line 8, hint @triton.jit
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    f = lambda x: x * 2
    tl.store(x_ptr, f(tl.load(x_ptr)))
# applied 6: @triton.jit
# applied 6+: def f(x):
# applied 6+:     return x * 2
# applied 6+: @triton.jit
# applied 8:

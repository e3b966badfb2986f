# expect: compile_error, line 10, hint @triton.jit
# says: not Triton's
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    o = tl.arange(0, 16)
    tl.store(x_ptr, tl.reduce(tl.load(x_ptr + o), 0, max))
# applied 7: @triton.jit
# applied 7+: def larger(a, b):
# applied 7+:     return tl.maximum(a, b)
# applied 7+: @triton.jit
# applied 10:     tl.store(x_ptr, tl.reduce(tl.load(x_ptr + o), 0, larger))

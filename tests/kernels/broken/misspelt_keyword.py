# expect: compile_error, line 12, hint 'BLOCK' instead of 'BLOK'
# says: missing a required argument
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}
import triton
import triton.language as tl

@triton.jit
def helper(x, BLOCK: tl.constexpr):
    return x + tl.arange(0, BLOCK)
@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + helper(0, BLOK=BLOCK), 1.0)
# applied 12:     tl.store(x_ptr + helper(0, BLOCK=BLOCK), 1.0)

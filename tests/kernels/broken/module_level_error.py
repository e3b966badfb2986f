# expect: compile_error, line 6, hint None
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}
import triton
import triton.language as tl

SIZES = tl.constexpr([16, 32][2])

@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), SIZES)

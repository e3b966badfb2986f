# expect: compile_error, line 8, hint None
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK >= 128, "BLOCK must be at least 128")
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

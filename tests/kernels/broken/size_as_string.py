# expect: compile_error, line 9, hint without quotes
# says: tl.constexpr
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": "64"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)
# applied with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}

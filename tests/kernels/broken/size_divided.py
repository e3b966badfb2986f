# expect: compile_error, line 9, hint //
# says: tl.constexpr
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}, "constexprs": {"BLOCK": 64}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK / 2)
    tl.store(x_ptr + o, 1.0)
# applied 9:     o = tl.arange(0, BLOCK // 2)

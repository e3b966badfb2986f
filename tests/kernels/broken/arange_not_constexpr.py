# expect: compile_error, line 8, hint tl.constexpr
# with: {"signature": {"x_ptr": "*fp32", "BLOCK": "i32"}}
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, BLOCK):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, 1.0)
# applied 7: def add(x_ptr, BLOCK: tl.constexpr):
# applied with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}

# expect: compile_error, line 9, hint In `constexprs`, give BLOCK without quotes: 64.
# says: BLOCK is the string "64"
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": "64"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.program_id(0) * BLOCK, 1.0)
# applied with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}

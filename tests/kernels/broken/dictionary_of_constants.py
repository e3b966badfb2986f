# expect: compile_error, line 9, hint parameter for each value
# says: not a dictionary
# with: {"signature": {"x_ptr": "*fp32", "META": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, META):
    tl.store(x_ptr + tl.arange(0, META["BLOCK"]), 1.0)
# applied 8: def kernel(x_ptr, BLOCK: tl.constexpr):
# applied 9:     tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)
# applied with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}

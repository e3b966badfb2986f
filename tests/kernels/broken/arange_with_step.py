# expect: compile_error, line 9, hint tl.arange(start, end)
# says: too many positional arguments
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK, 2), 1.0)
# applied 9:     tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

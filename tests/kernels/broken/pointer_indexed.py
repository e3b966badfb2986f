# expect: compile_error, line 10, hint tl.load(x_ptr + range)
# says: x_ptr is a pointer
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    range = tl.arange(0, BLOCK)
    x = x_ptr[range]
    tl.store(x_ptr + range, x)
# applied 10:     x = tl.load(x_ptr + range)

# expect: compile_error, line 10, hint tl.store(x_ptr + offs, value)
# says: x_ptr is a pointer
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x_ptr[offs] = 1.0
# applied 10:     tl.store(x_ptr + offs, 1.0)

# expect: lowering_failed, line 11, hint mask=m != 0
# says: fp32[64], not a condition
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    m = tl.load(x_ptr + offs)
    x = tl.load(x_ptr + offs, mask=m)
    tl.store(x_ptr + offs, x)
# applied 11:     x = tl.load(x_ptr + offs, mask=m != 0)

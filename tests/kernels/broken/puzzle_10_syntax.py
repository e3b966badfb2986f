# expect: syntax_error, line 10, hint digit
import triton
import triton.language as tl

FPINT = 32 // 4

@triton.jit
def quant_dot_kernel(scale_ptr, z_ptr, MID: tl.constexpr):
    scale = tl.load(scale_ptr + tl.arange(0, MID))
    v = (tl.arange(0, MID) % FPINT) * 4as
    tl.store(z_ptr + tl.arange(0, MID), scale + v)
# applied 5: FPINT = tl.constexpr(32 // 4)
# applied 10:     v = (tl.arange(0, MID) % FPINT) * 4
# applied with: {"signature": {"scale_ptr": "*fp32", "z_ptr": "*fp32"}, "constexprs": {"MID": 64}}

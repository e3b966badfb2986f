# expect: syntax_error, line 7, hint bracket
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK)
    tl.store(x_ptr + tl.arange(0, BLOCK), x)
# applied 7:     x = tl.load(x_ptr + tl.arange(0, BLOCK))
# applied with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}

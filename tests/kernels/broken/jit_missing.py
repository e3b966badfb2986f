# expect: unknown_kernel, line 5, hint @triton.jit
import triton
import triton.language as tl

def add(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)
# applied 5: @triton.jit
# applied 5+: def add(x_ptr, BLOCK: tl.constexpr):
# applied with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}

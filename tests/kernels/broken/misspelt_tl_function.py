# expect: compile_error, line 9, hint load
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.laod(x_ptr + offsets)
    tl.store(x_ptr + offsets, x)
# applied 9:     x = tl.load(x_ptr + offsets)

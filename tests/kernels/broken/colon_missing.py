# expect: syntax_error, line 6, hint colon
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr)
    offsets = tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets) + 1)
# applied 6: def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
# applied with: {"signature": {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}, "constexprs": {"BLOCK": 64}}

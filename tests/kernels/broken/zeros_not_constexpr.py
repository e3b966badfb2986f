# expect: compile_error, line 8, hint tl.constexpr
# with: {"signature": {"x_ptr": "*fp32", "BLOCK": "i32"}}
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, BLOCK):
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    tl.store(x_ptr + tl.arange(0, 64), acc)
# applied 7: def add(x_ptr, BLOCK: tl.constexpr):
# applied with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}

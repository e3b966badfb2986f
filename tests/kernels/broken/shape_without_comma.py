# expect: compile_error, line 9, hint (BLOCK,)
# says: BLOCK is a number
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    acc = tl.zeros(BLOCK, dtype=tl.float32)
    tl.store(x_ptr + tl.arange(0, BLOCK), acc)
# applied 9:     acc = tl.zeros((BLOCK,), dtype=tl.float32)

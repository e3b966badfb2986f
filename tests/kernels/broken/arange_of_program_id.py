# expect: compile_error, line 10, hint start + tl.arange
# says: tl.constexpr
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(x_ptr + tl.arange(pid * BLOCK, pid * BLOCK + BLOCK), 1.0)
# applied 10:     tl.store(x_ptr + pid * BLOCK + tl.arange(0, BLOCK), 1.0)

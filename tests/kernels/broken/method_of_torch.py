# expect: compile_error, line 10, hint tl.maximum(x, 0.0)
# says: no attribute 'relu'
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs).relu())
# applied 10:     tl.store(x_ptr + offs, tl.maximum(tl.load(x_ptr + offs), 0.0))

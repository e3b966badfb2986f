# expect: compile_error, line 8, hint 1024
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 1000}}
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, 1.0)
# applied 8:     offsets = tl.arange(0, 1024)
# applied 9:     tl.store(x_ptr + offsets, 1.0, mask=offsets < 1000)

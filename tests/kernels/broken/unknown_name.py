# expect: compile_error, line 9, hint offsets
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}, "constexprs": {"BLOCK": 64}}
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offset, 1.0, mask=offsets < n)
# applied 9:     tl.store(x_ptr + offsets, 1.0, mask=offsets < n)

# expect: lowering_failed, line 10, hint its values are powers of two
# says: isPowerOf2_32
# with: {"signature": {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}, "constexprs": {"BLOCK": 1024}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    o = tl.max_constancy(o, 3)
    tl.store(y_ptr + o, tl.load(x_ptr + o, mask=o < n), mask=o < n)
# applied 10:
# or
# applied 10:     o = tl.max_constancy(o, 1)

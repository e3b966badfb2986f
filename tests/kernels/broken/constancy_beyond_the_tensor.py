# expect: lowering_failed, line 10, hint from 1 to the size of the tensor
# says: Triton cannot lower this operation
# with: {"signature": {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}, "constexprs": {"BLOCK": 1024}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    o = tl.max_constancy(o, 4096)
    tl.store(y_ptr + o, tl.load(x_ptr + o, mask=o < n), mask=o < n)
# applied 10:

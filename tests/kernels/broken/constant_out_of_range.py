# expect: compile_error, line 9, hint tl.int64
# says: out of range
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, n + 4294967296 * 4)
# applied 9:     tl.store(x_ptr, n.to(tl.int64) + 4294967296 * 4)

# expect: compile_error, line 9, hint n.to(tl.int64)
# says: unsigned tensor and a negative scalar
# with: {"signature": {"x_ptr": "*fp32", "n": "u32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, n + -1)
# applied 9:     tl.store(x_ptr, n.to(tl.int64) + -1)

# expect: lowering_failed, line 10, hint tl.store
# says: returns a value
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, 1.0)
    return n + 1
# applied 10:     tl.store(x_ptr, n + 1)

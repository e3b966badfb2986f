# expect: compile_error, line 9, hint .to(tl.float32)
# says: int32
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, tl.exp(n))
# applied 9:     tl.store(x_ptr, tl.exp(n.to(tl.float32)))

# expect: compile_error, line 9, hint tl.exp(n)
# says: math.exp runs on the host
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import math
import triton
import triton.language as tl
@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, math.exp(n))
# applied 9:     tl.store(x_ptr, tl.exp(n.to(tl.float32)))

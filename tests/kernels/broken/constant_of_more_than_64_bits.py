# expect: compile_error, line 9, hint 1e30
# says: Nonrepresentable integer
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, n + 1000000000000000000000000000000)
# applied 9:     tl.store(x_ptr, n + 1e30)

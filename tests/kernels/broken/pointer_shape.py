# expect: compile_error, line 9, hint parameters
# says: no shape
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, x_ptr.shape[0])
# applied 8: def kernel(x_ptr, n):
# applied 9:     tl.store(x_ptr, n)
# applied with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}

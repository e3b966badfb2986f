# expect: unknown_kernel, line 7, hint instead of @triton.jti
# says: not Triton's
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl
@triton.jti
def kernel(x_ptr):
    tl.store(x_ptr, 1.0)
# applied 6: @triton.jit

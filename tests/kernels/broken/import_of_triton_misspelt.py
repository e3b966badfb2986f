# expect: missing_module, line 5, hint triton.language
# says: triton.lang
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.lang as tl
@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, 1.0)
# applied 5: import triton.language as tl

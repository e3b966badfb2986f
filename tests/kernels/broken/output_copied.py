# expect: syntax_error, line 11, hint prose or output
# says: invalid syntax
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, 1.0)

Results match: True
# applied 11: # Results match: True

# expect: compile_error, line 6, hint 'arange'
# says: cannot import name 'arnge'
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl
from triton.language import arnge
@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr + arnge(0, 16), 1.0)
# applied 6: from triton.language import arange as arnge

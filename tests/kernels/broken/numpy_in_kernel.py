# expect: compile_error, line 9, hint Use tl.exp
# with: {"signature": {"x_ptr": "*fp32"}}
import numpy as np
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, np.exp(tl.load(x_ptr)))
# applied 9:     tl.store(x_ptr, tl.exp(tl.load(x_ptr)))

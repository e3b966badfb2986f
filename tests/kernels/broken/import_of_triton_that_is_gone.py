# expect: missing_module, line 6, hint has no module triton.ops
# says: triton.ops
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl
from triton.ops.matmul import helper
@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, helper(1.0))
# applied 6: @triton.jit
# applied 6+: def helper(x):
# applied 6+:     return x * 2

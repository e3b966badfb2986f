# expect: missing_module, line 4, hint torch/_inductor/runtime/triton_helpers.py
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
from torch._inductor.runtime import triton_helpers as helpers

@triton.jit
def kernel(x_ptr):
    helpers.maximum(x_ptr, x_ptr)

# expect: compile_error, line 10, hint `constexprs`
# says: not installed
# with: {"signature": {"x_ptr": "*fp32"}}
import torch
import triton
import triton.language as tl
N = tl.constexpr(torch.cuda.get_device_properties(0).multi_processor_count)
@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, N)
# applied 7: N = tl.constexpr(132)

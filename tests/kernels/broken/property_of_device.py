# expect: compile_error, line 7, hint tl.constexpr parameter
# says: the total_memory of a cuda:90 is not known
# with: {"signature": {"x_ptr": "*fp32"}}
import torch
import triton
import triton.language as tl
N = tl.constexpr(torch.cuda.get_device_properties(0).total_memory)
@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, N)
# applied 7: N = tl.constexpr(80 << 30)

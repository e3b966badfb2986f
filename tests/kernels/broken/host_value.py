# expect: compile_error, line 6, hint torch is not there
# with: {"signature": {"x_ptr": "*fp32"}}
import torch
import triton
import triton.language as tl
SIZE = tl.constexpr(int(torch.zeros(64).numel()))

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr + tl.arange(0, SIZE), 1.0)
# applied 6: SIZE = tl.constexpr(64)

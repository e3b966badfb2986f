# expect: compile_error, line 6, hint None
# with: {"signature": {"x_ptr": "*fp32"}}
import torch
import triton
import triton.language as tl
SIZE = tl.constexpr(128 if torch.cuda.is_available() else 64)

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr + tl.arange(0, SIZE), 1.0)

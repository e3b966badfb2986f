# expect: compile_error, line 10, hint tl.float16
# says: torch.float16 is not one of Triton's dtypes
# with: {"signature": {"x_ptr": "*fp32"}}
import torch
import triton
import triton.language as tl
@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, x.to(torch.float16))
# applied 10:     tl.store(x_ptr, x.to(tl.float16))

# expect: compile_error, line 8, hint tl.exp
# with: {"signature": {"x_ptr": "*fp32"}}
import torch, triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, torch.exp(tl.load(x_ptr)))
# applied 8:     tl.store(x_ptr, tl.exp(tl.load(x_ptr)))

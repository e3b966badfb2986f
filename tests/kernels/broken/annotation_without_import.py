# expect: compile_error, line 8, hint import torch
# says: 'torch' is not defined
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr: torch.Tensor, n: int):
    tl.store(x_ptr, n)
# applied 4: import triton
# applied 4+: import torch

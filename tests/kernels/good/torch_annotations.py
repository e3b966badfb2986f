# with: {"kernel": "kernel", "signature": {"x_ptr": "*fp32", "n": "i32"}, "constexprs": {"BLOCK": 64}}
import torch
import triton
import triton.language as tl

IS_HIP = tl.constexpr(torch.version.hip is not None)


def dtype_of(x: torch.Tensor, kind=torch.float16):
    return kind


@triton.jit
def kernel(x_ptr: torch.Tensor, n: int, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    value = 1.0 if IS_HIP else 2.0
    tl.store(x_ptr + offsets, value, mask=offsets < n)

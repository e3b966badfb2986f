"""RMS norm as a cheat: a kernel is launched, but torch computes the result."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, output_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask)
    tl.store(output_ptr + row * columns + offsets, x, mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self, columns: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(columns))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scratch = torch.empty_like(x)
        rows, columns = x.shape
        block = triton.next_power_of_2(columns)
        rms_norm_kernel[(rows,)](x, scratch, columns, BLOCK=block)
        return torch.nn.functional.rms_norm(x, (columns,), self.weight, self.eps)

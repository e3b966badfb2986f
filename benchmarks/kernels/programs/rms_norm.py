"""RMS norm: one program for each row."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, weight_ptr, output_ptr, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=0.0)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / columns + eps)
    weight = tl.load(weight_ptr + offsets, mask=mask)
    tl.store(output_ptr + row * columns + offsets, x * scale * weight, mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self, columns, eps=1e-5):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(columns))
        self.eps = eps

    def forward(self, x):
        rows, columns = x.shape
        output = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        rms_norm_kernel[(rows,)](x, self.weight, output, columns, self.eps, BLOCK=block)
        return output


class Model(torch.nn.Module):
    def __init__(self, columns, eps=1e-5):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(columns))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def get_init_inputs():
    return [4096]


def get_inputs():
    return [torch.randn(2048, 4096)]

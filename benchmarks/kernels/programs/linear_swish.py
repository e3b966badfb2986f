"""A linear layer in torch, with a swish of its result in a kernel."""

import torch
import triton
import triton.language as tl


@triton.jit
def swish_kernel(x_ptr, output_ptr, n_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x * tl.sigmoid(x), mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs)

    def forward(self, x):
        x = self.linear(x)
        output = torch.empty_like(x)
        n_elements = x.numel()
        swish_kernel[(triton.cdiv(n_elements, 1024),)](x, output, n_elements, BLOCK=1024)
        return output


class Model(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs)

    def forward(self, x):
        x = self.linear(x)
        return x * torch.sigmoid(x)


def get_init_inputs():
    return [1024, 1024]


def get_inputs():
    return [torch.randn(1024, 1024)]

"""Softmax over rows that fit a block."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, output_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=-float("inf"))
    powers = tl.exp(x - tl.max(x, axis=0))
    tl.store(output_ptr + row * columns + offsets, powers / tl.sum(powers, axis=0), mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        output = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        softmax_kernel[(rows,)](x, output, columns, BLOCK=block, num_warps=8)
        return output


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2048, 4096)]

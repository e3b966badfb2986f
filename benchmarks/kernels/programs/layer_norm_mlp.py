"""A transformer block: layer norm in a kernel, two products, GELU in another kernel."""

import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x_ptr, weight_ptr, bias_ptr, output_ptr, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(mask, x - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    weight = tl.load(weight_ptr + offsets, mask=mask)
    bias = tl.load(bias_ptr + offsets, mask=mask)
    tl.store(output_ptr + row * columns + offsets, centred * scale * weight + bias, mask=mask)


@triton.jit
def gelu_kernel(x_ptr, n_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    x = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(x_ptr + offsets, x, mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        rows, columns = x.shape
        normed = torch.empty_like(x)
        layer_norm_kernel[(rows,)](
            x, self.norm.weight, self.norm.bias, normed, columns, self.norm.eps,
            BLOCK=triton.next_power_of_2(columns),
        )
        wide = self.up(normed)
        gelu_kernel[(triton.cdiv(wide.numel(), 1024),)](wide, wide.numel(), BLOCK=1024)
        return x + self.down(wide)


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def get_init_inputs():
    return [1024]


def get_inputs():
    return [torch.randn(1024, 1024)]

"""A convolution in torch, with its bias and ReLU in a kernel."""

import torch
import triton
import triton.language as tl


@triton.jit
def bias_relu_kernel(x_ptr, bias_ptr, n_elements, channels, pixels, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    bias = tl.load(bias_ptr + offsets // pixels % channels, mask=mask)
    x = tl.load(x_ptr + offsets, mask=mask) + bias
    tl.store(x_ptr + offsets, tl.maximum(x, 0.0), mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.convolution = torch.nn.Conv2d(inputs, outputs, 3, padding=1)

    def forward(self, x):
        layer = self.convolution
        x = torch.nn.functional.conv2d(x, layer.weight, padding=1).contiguous()
        n_elements, channels, pixels = x.numel(), x.shape[1], x.shape[2] * x.shape[3]
        grid = (triton.cdiv(n_elements, 1024),)
        bias_relu_kernel[grid](x, layer.bias, n_elements, channels, pixels, BLOCK=1024)
        return x


class Model(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.convolution = torch.nn.Conv2d(inputs, outputs, 3, padding=1)

    def forward(self, x):
        return torch.relu(self.convolution(x))


def get_init_inputs():
    return [32, 64]


def get_inputs():
    return [torch.randn(8, 32, 64, 64)]

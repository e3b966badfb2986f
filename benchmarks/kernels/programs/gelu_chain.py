"""Scale, GELU and clamp in one kernel; the reference creates a tensor for each."""

import torch
import triton
import triton.language as tl


@triton.jit
def gelu_chain_kernel(x_ptr, output_ptr, n_elements, scale, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask) * scale
    x = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(output_ptr + offsets, tl.minimum(tl.maximum(x, -1.0), 1.0), mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        output = torch.empty_like(x)
        n_elements = x.numel()
        grid = (triton.cdiv(n_elements, 2048),)
        gelu_chain_kernel[grid](x, output, n_elements, self.scale, BLOCK=2048)
        return output


class Model(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return torch.nn.functional.gelu(x * self.scale).clamp(-1.0, 1.0)


def get_init_inputs():
    return [1.5]


def get_inputs():
    return [torch.randn(2048, 4096)]

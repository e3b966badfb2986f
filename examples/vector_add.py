"""Adds two vectors: an ordinary script with kernel and launch in one file.

tritond accepts it unchanged. It compiles only the kernel and what it uses, which needs no torch and
no GPU. Running this file on your own machine needs both.
"""

import torch
import triton
import triton.language as tl

DEVICE = torch.device("cuda")


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    # each program adds one block; the last one may reach past the end, so it is masked
    start = tl.program_id(axis=0) * BLOCK_SIZE
    offsets = start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    output = torch.empty_like(x)
    n_elements = output.numel()
    grid = (triton.cdiv(n_elements, 1024),)
    add_kernel[grid](x, y, output, n_elements, BLOCK_SIZE=1024)
    return output


if __name__ == "__main__":
    torch.manual_seed(0)
    a = torch.rand(98432, device=DEVICE)
    b = torch.rand(98432, device=DEVICE)
    torch.testing.assert_close(add(a, b), a + b)
    print("vector_add: the kernel agrees with torch")

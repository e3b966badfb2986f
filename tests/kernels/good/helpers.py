# with: {"kernel": "kernel", "signature": {"x_ptr": "*bf16", "n": "i32"}, "constexprs": {"BLOCK": 256}, "hints": {"x_ptr": ["divisible_by_16"]}}
import math

import triton
import triton.language as tl
from triton.language.extra import libdevice

ROOT_HALF = tl.constexpr(math.sqrt(0.5))


@triton.constexpr_function
def halved(size):
    return size // 2


@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + tl.erf(x * ROOT_HALF))


@triton.jit
def both(x, scale: tl.constexpr = 2.0):
    return gelu(x) * scale, libdevice.tanh(x)


@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    half: tl.constexpr = halved(BLOCK)
    offsets = tl.program_id(0) * half + tl.arange(0, half)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    left, right = both(x)
    tl.store(x_ptr + offsets, (left + right).to(tl.bfloat16), mask=offsets < n)

"""A kernel that is tuned, and takes a function and a type; its helper is in another file."""

import triton
import triton.language as tl
from helpers import twice


@triton.jit
def square(x):
    return x * x


@triton.autotune(configs=[triton.Config({"N": 32}, num_warps=2)], key=["n"])
@triton.jit
def apply(x_ptr, z_ptr, n, N: tl.constexpr, FUNCTION: tl.constexpr, TYPE: tl.constexpr, bias=3):
    lanes = tl.arange(0, N)
    x = tl.load(x_ptr + lanes, lanes < n, 0).to(TYPE)
    tl.store(z_ptr + lanes, twice(FUNCTION(x)) + bias, lanes < n)


x = None
apply[(1,)](x, x, 5)

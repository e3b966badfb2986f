"""Arithmetic in bf16 and fp8, as a GPU does it: in wider types, rounded to nearest even."""

import triton
import triton.language as tl


@triton.jit
def arithmetic(x_ptr, y_ptr, z_ptr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    x = tl.load(x_ptr + lanes)
    y = tl.load(y_ptr + lanes)
    tl.store(z_ptr + lanes, tl.where(x > 0.5, x * y - 1, -y) + tl.maximum(x, y))


@triton.jit
def sums(x_ptr, z_ptr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    x = tl.load(x_ptr + lanes)
    tl.store(z_ptr + lanes, tl.cumsum(x, 0))
    tl.store(z_ptr + N, tl.sum(x, 0))


@triton.jit
def dot(x_ptr, y_ptr, z_ptr, N: tl.constexpr):
    places = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(z_ptr + places, tl.dot(tl.load(x_ptr + places), tl.load(y_ptr + places)))


@triton.jit
def convert(x_ptr, z_ptr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(z_ptr + lanes, tl.load(x_ptr + lanes).to(z_ptr.dtype.element_ty))


@triton.jit
def show(x_ptr):
    tl.device_print("x", tl.load(x_ptr))


@triton.jit
def add_atomically(x_ptr, z_ptr):
    tl.atomic_add(z_ptr, tl.load(x_ptr))

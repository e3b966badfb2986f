"""Kernels that pass the launch they were tried with, and are wrong for another; the last is right."""

import triton
import triton.language as tl


@triton.jit
def no_mask_at_the_tail(x_ptr, z_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(z_ptr + offsets, 2 * x)


@triton.jit
def assumes_contiguous_rows(x_ptr, z_ptr, x_stride, z_stride, n_rows, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_columns + lanes, mask=lanes < n_columns)
    tl.store(z_ptr + row * z_stride + lanes, 2 * x, mask=lanes < n_columns)


@triton.jit
def softmax_without_maximum(x_ptr, z_ptr, n_rows, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_columns + lanes, mask=lanes < n_columns, other=-float("inf"))
    e = tl.exp(x)
    tl.store(z_ptr + row * n_columns + lanes, e / tl.sum(e, axis=0), mask=lanes < n_columns)


@triton.jit
def mean_of_the_padded_row(x_ptr, z_ptr, n_rows, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_columns + lanes, mask=lanes < n_columns, other=0.0)
    tl.store(z_ptr + row, tl.sum(x, axis=0) / BLOCK)


@triton.jit
def sum_in_half_precision(x_ptr, z_ptr, n_rows, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float16)
    for start in range(0, n_columns, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n_columns + lanes, mask=lanes < n_columns, other=0.0)
    tl.store(z_ptr + row, tl.sum(total, axis=0).to(tl.float32))


@triton.jit
def entropy_of_positive_parts(x_ptr, z_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=1.0)
    tl.store(z_ptr + offsets, -x * tl.log(x), mask=mask)


@triton.jit
def divides_by_what_may_be_zero(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask, other=1.0)
    tl.store(z_ptr + offsets, x / y, mask=mask)


@triton.jit
def last_of_the_largest(x_ptr, z_ptr, n_rows, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_columns + lanes, mask=lanes < n_columns, other=-float("inf"))
    tl.store(z_ptr + row, tl.max(tl.where(x == tl.max(x, axis=0), lanes, -1), axis=0))


@triton.jit
def clamps_what_is_large(x_ptr, z_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(z_ptr + offsets, 2 * tl.minimum(tl.maximum(x, -65504.0), 65504.0), mask=mask)


@triton.jit
def drops_by_multiplying(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    kept = tl.load(y_ptr + offsets, mask=mask, other=0)
    tl.store(z_ptr + offsets, x * kept, mask=mask)


@triton.jit
def right_for_one_size(x_ptr, z_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    if n == 98432:
        x = 2 * x
    tl.store(z_ptr + offsets, x, mask=offsets < n)


@triton.jit
def largest_from_zero(x_ptr, z_ptr, n_rows, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_columns + lanes, mask=lanes < n_columns, other=0.0)
    tl.store(z_ptr + row, tl.max(x, axis=0))


@triton.jit
def softmax(x_ptr, z_ptr, n_rows, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_columns + lanes, mask=lanes < n_columns, other=-float("inf"))
    x = x.to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(z_ptr + row * n_columns + lanes, e / tl.sum(e, axis=0), mask=lanes < n_columns)

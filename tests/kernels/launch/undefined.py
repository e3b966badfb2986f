"""Kernels with lanes that have no value: most use them nowhere, some do."""

import triton
import triton.language as tl


@triton.jit
def sums_rows(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * n + columns, mask=mask)
    tl.store(out_ptr + row, tl.sum(x, axis=0))


@triton.jit
def largest_of_rows(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + columns, mask=columns < n)
    tl.store(out_ptr + row, tl.max(x, axis=0))


@triton.jit
def sums_selected_rows(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + columns, mask=columns < n)
    tl.store(out_ptr + row, tl.sum(tl.where(columns < n, x, 0.0), axis=0))


@triton.jit
def sums_products(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    y = tl.load(y_ptr + offsets, mask=offsets < n, other=1.0)
    tl.store(out_ptr, tl.sum(x * y, axis=0))


@triton.jit
def copies_rows(x_ptr, out_ptr, n, m, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    offsets = rows[:, None] * m + columns[None, :]
    mask = (rows[:, None] < n) & (columns[None, :] < m)
    x = tl.sigmoid(tl.load(x_ptr + offsets, mask=mask)) * 2
    tl.store(out_ptr + offsets, x, mask=(rows < n)[:, None] & (columns < m)[None, :])


@triton.jit
def asserts_of_all_lanes(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.device_assert(x == x, "no number")
    tl.store(out_ptr + offsets, x, mask=offsets < n)


@triton.jit
def follows_indices(x_ptr, indices_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    index = tl.load(indices_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, tl.load(x_ptr + index))


@triton.jit
def turns_while(count_ptr, out_ptr, n):
    count = tl.load(count_ptr, mask=n > 0)
    total = 0
    for i in range(count):
        total += i * i
    tl.store(out_ptr, total)


@triton.jit
def gathers(x_ptr, indices_ptr, out_ptr, SIZE: tl.constexpr, COUNT: tl.constexpr):
    index = tl.load(indices_ptr + tl.arange(0, COUNT))
    found = tl.load(x_ptr + tl.arange(0, SIZE)).gather(index, axis=0)
    tl.store(out_ptr + tl.arange(0, COUNT), found)


@triton.jit
def shifts(x_ptr, out_ptr, SIZE: tl.constexpr):
    offsets = tl.arange(0, SIZE)
    before = tl.load(x_ptr + offsets).gather(offsets - 1, axis=0)
    tl.store(out_ptr + offsets, tl.where(offsets > 0, before, 0.0))


@triton.jit
def counts(x_ptr, out_ptr, SIZE: tl.constexpr, BINS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, SIZE))
    tl.store(out_ptr + tl.arange(0, BINS), tl.histogram(x, BINS))

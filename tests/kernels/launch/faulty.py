"""Kernels with one fault each."""

import triton
import triton.language as tl


@triton.jit
def reads_past_the_end(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    y = tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, x + y, mask=offsets < n)


@triton.jit
def writes_past_the_end(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(
        out_ptr + offsets,
        x,
    )


@triton.jit
def looks_behind(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    before = tl.load(x_ptr + offsets - 1)
    tl.store(out_ptr + offsets, before, mask=offsets < n)


@triton.jit
def counts_beyond(x_ptr, counts_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.atomic_add(counts_ptr + x, 1)


@triton.jit
def swaps_beyond(flag_ptr):
    tl.atomic_cas(flag_ptr + 3, 0, 1)


@triton.jit
def stores_in_rows(out_ptr, n_rows, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    tl.store(out_ptr + row * n_columns + columns, row, mask=columns < n_columns)


@triton.jit
def load_of(pointer, offsets):
    return tl.load(pointer + offsets)


@triton.jit
def reads_in_a_helper(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, load_of(x_ptr, offsets * 2))


@triton.jit
def reads_wild(x_ptr, out_ptr):
    address = tl.load(x_ptr).to(tl.int64)
    tl.store(out_ptr, tl.load(address.to(tl.pointer_type(tl.float32))))


@triton.jit
def reads_between(x_ptr, out_ptr):
    bytes_of_x = x_ptr.to(tl.pointer_type(tl.int8))
    tl.store(out_ptr, tl.load((bytes_of_x + 2).to(tl.pointer_type(tl.float32))))


@triton.jit
def asserts(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.device_assert(x < 7, "x is too large")
    tl.store(out_ptr + offsets, x)


@triton.jit
def prints(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.device_print("x is", x)
    tl.store(out_ptr + tl.arange(0, BLOCK), x)


@triton.jit
def prints_without_end(x_ptr, out_ptr, n):
    for i in range(0, n):
        tl.device_print("still here, and saying so at some length, at", i)
    tl.store(out_ptr, 1)


@triton.jit
def never_ends(x_ptr, out_ptr):
    total = 0
    while tl.load(x_ptr) < 1:
        total += 1
    tl.store(out_ptr, total)


@triton.jit
def changes_its_input(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(x_ptr + offsets, tl.where(offsets == 5, 0, x))
    tl.store(out_ptr + offsets, x)


@triton.jit
def accumulates(out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(out_ptr + offsets) + 1)


@triton.jit
def misspells(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offset)
    tl.store(out_ptr + offsets, x)


@triton.jit
def adds_shapes(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 32))
    tl.store(out_ptr + tl.arange(0, 64), x + tl.arange(0, 64))


@triton.jit
def masks_one_too_many(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets <= n)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


@triton.jit
def masks_by_another_size(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


@triton.jit
def describes_too_much(x_ptr, out_ptr):
    block = tl.make_tensor_descriptor(x_ptr, [16, 32], [32, 1], [16, 32])
    tl.store(out_ptr + tl.arange(0, 32), tl.sum(block.load([0, 0]), 0))

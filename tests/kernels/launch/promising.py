"""Kernels whose hints and descriptors hold only for some arguments."""

import triton
import triton.language as tl


@triton.jit
def starts_at(x_ptr, out_ptr, step, BLOCK: tl.constexpr):
    start = tl.multiple_of(tl.program_id(0) * step, 16)
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + offsets, tl.load(x_ptr + start + offsets))


@triton.jit
def looks_up_starts(x_ptr, starts_ptr, out_ptr, BLOCK: tl.constexpr):
    base = tl.load(starts_ptr + tl.program_id(0))
    offsets = tl.max_contiguous(tl.multiple_of(base + tl.arange(0, BLOCK), 16), 16)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), x)


@triton.jit
def wraps(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    wrapped = tl.max_contiguous(tl.multiple_of(offsets % n, BLOCK), BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + wrapped))


@triton.jit
def masks_in_groups(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = tl.max_constancy(offsets < n, 16)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask, other=0.0))


@triton.jit
def carries_an_offset(x_ptr, out_ptr, step, BLOCK: tl.constexpr):
    offset = 0
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(3):
        offset = tl.multiple_of(offset, 8)
        total += tl.load(x_ptr + offset + tl.arange(0, BLOCK))
        offset += step
    tl.store(out_ptr + tl.arange(0, BLOCK), total)


@triton.jit
def copies_by_descriptor(x_ptr, out_ptr, start, ROWS: tl.constexpr, stride, COLUMNS: tl.constexpr):
    described = tl.make_tensor_descriptor(
        x_ptr + start, shape=[ROWS, COLUMNS], strides=[stride, 1], block_shape=[ROWS, COLUMNS]
    )
    places = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out_ptr + places, described.load([0, 0]))

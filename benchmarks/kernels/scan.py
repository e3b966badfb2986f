"""Realistic scans and sorts."""

import triton
import triton.language as tl


@triton.jit
def recurrence(decay_left, value_left, decay_right, value_right):
    return decay_left * decay_right, value_left * decay_right + value_right


@triton.jit
def linear_recurrence_kernel(
    decay_ptr, x_ptr, y_ptr, length, stride,
    BLOCK: tl.constexpr, CHANNELS: tl.constexpr, SALT: tl.constexpr,
):
    channels = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    state = tl.zeros((1, CHANNELS), tl.float32)
    for start in range(0, length, BLOCK):
        steps = start + tl.arange(0, BLOCK)
        at = steps[:, None] * stride + channels[None, :]
        mask = steps[:, None] < length
        decay = tl.load(decay_ptr + at, mask=mask, other=1.0).to(tl.float32)
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32) * SALT
        decays, values = tl.associative_scan((decay, x), 0, recurrence)
        values += decays * state
        tl.store(y_ptr + at, values, mask=mask)
        last = tl.arange(0, BLOCK)[:, None] == BLOCK - 1
        state = tl.sum(tl.where(last, values, 0.0), 0, keep_dims=True)


@triton.jit
def cumulative_sum_kernel(
    x_ptr, y_ptr, totals_ptr, n_columns, BLOCK: tl.constexpr, REVERSE: tl.constexpr,
    SALT: tl.constexpr,
):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_columns
    x = tl.load(x_ptr + row * n_columns + columns, mask=mask, other=0.0).to(tl.float32) + SALT
    y = tl.cumsum(x, 0, reverse=REVERSE)
    tl.store(y_ptr + row * n_columns + columns, y, mask=mask)
    tl.store(totals_ptr + row, tl.sum(tl.where(mask, x, 0.0), 0))

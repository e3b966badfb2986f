"""Realistic reductions of rows and of whole arrays."""

import triton
import triton.language as tl


@triton.jit
def join_moments(mean_a, spread_a, count_a, mean_b, spread_b, count_b):
    count = count_a + count_b
    share = tl.where(count == 0.0, 0.0, count_b / count)
    delta = mean_b - mean_a
    return (
        mean_a + delta * share,
        spread_a + spread_b + delta * delta * count_a * share,
        count,
    )


@triton.jit
def variance_kernel(
    x_ptr, mean_ptr, variance_ptr, n_columns, stride,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, SALT: tl.constexpr,
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    mean = tl.zeros((ROWS, BLOCK), tl.float32)
    spread = tl.zeros((ROWS, BLOCK), tl.float32)
    count = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = (columns < n_columns)[None, :]
        x = tl.load(x_ptr + rows[:, None] * stride + columns[None, :], mask=mask, other=0.0)
        x = x.to(tl.float32) * SALT
        seen = tl.where(mask, count + 1.0, count)
        delta = x - mean
        mean = tl.where(mask, mean + delta / tl.maximum(seen, 1.0), mean)
        spread = tl.where(mask, spread + delta * (x - mean), spread)
        count = seen
    mean, spread, count = tl.reduce((mean, spread, count), 1, join_moments)
    tl.store(mean_ptr + rows, mean)
    tl.store(variance_ptr + rows, spread / count)


@triton.jit
def argmax_kernel(
    x_ptr, index_ptr, value_ptr, n_columns, BLOCK: tl.constexpr, SALT: tl.constexpr
):
    row = tl.program_id(0)
    best = tl.full((BLOCK,), -float("inf"), tl.float32)
    where = tl.zeros((BLOCK,), tl.int32)
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_columns + columns, mask=columns < n_columns,
                    other=-float("inf")).to(tl.float32) + SALT
        where = tl.where(x > best, columns, where)
        best = tl.maximum(x, best)
    value, lane = tl.max(best, 0, return_indices=True)
    tl.store(value_ptr + row, value)
    tl.store(index_ptr + row, tl.sum(tl.where(tl.arange(0, BLOCK) == lane, where, 0), 0))


@triton.jit
def column_sum_kernel(
    x_ptr, y_ptr, n_rows, n_columns, stride,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, SALT: tl.constexpr,
):
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(tl.program_id(1) * BLOCK_M, n_rows, tl.num_programs(1) * BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < n_rows) & (columns[None, :] < n_columns)
        total += tl.load(x_ptr + rows[:, None] * stride + columns[None, :], mask=mask, other=0.0)
    tl.atomic_add(y_ptr + columns, tl.sum(total, 0) * SALT, mask=columns < n_columns)

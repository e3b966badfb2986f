"""Kernels that are right for every launch that their requests allow."""

import triton
import triton.language as tl


@triton.jit
def histogram(x_ptr, counts_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.atomic_add(counts_ptr + x, 1, mask=at < n)


@triton.jit
def embedding(ids_ptr, table_ptr, z_ptr, n, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    token = tl.load(ids_ptr + row)
    x = tl.load(table_ptr + token * width + lanes, mask=lanes < width)
    tl.store(z_ptr + row * width + lanes, x, mask=lanes < width)


@triton.jit
def transpose(x_ptr, z_ptr, M, N, stride_xm, stride_xn, stride_zn, stride_zm,
              BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (m < M)[:, None] & (n < N)[None, :]
    x = tl.load(x_ptr + m[:, None] * stride_xm + n[None, :] * stride_xn, mask=inside)
    tl.store(z_ptr + n[None, :] * stride_zn + m[:, None] * stride_zm, x, mask=inside)


@triton.jit
def partial_sums(x_ptr, z_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z_ptr + tl.program_id(0), tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0)))


@triton.jit
def three_neighbours(x_ptr, z_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x_ptr + at, mask=at < n)
    middle = tl.load(x_ptr + at + 1, mask=at < n)
    right = tl.load(x_ptr + at + 2, mask=at < n)
    tl.store(z_ptr + at, (left + middle + right) / 3, mask=at < n)


@triton.jit
def group_norm(x_ptr, z_ptr, n_rows, channels, groups, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0) // groups
    group = tl.program_id(0) % groups
    size = channels // groups
    lanes = tl.arange(0, BLOCK)
    at = row * channels + group * size + lanes
    x = tl.load(x_ptr + at, mask=lanes < size, other=0.0)
    mean = tl.sum(x, axis=0) / size
    centred = tl.where(lanes < size, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / size + epsilon)
    tl.store(z_ptr + at, centred * rstd, mask=lanes < size)


@triton.jit
def adam(p_ptr, g_ptr, m_ptr, v_ptr, n, rate, beta1, beta2, epsilon, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    g = tl.load(g_ptr + at, mask=mask)
    m = beta1 * tl.load(m_ptr + at, mask=mask) + (1 - beta1) * g
    v = beta2 * tl.load(v_ptr + at, mask=mask) + (1 - beta2) * g * g
    p = tl.load(p_ptr + at, mask=mask) - rate * m / (tl.sqrt(v) + epsilon)
    tl.store(p_ptr + at, p, mask=mask)
    tl.store(m_ptr + at, m, mask=mask)
    tl.store(v_ptr + at, v, mask=mask)


@triton.jit
def gelu(x_ptr, z_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    inner = 0.7978845608 * (x + 0.044715 * x * x * x)
    tanh = 2 * tl.sigmoid(2 * inner) - 1
    tl.store(z_ptr + at, 0.5 * x * (1 + tanh), mask=at < n)


@triton.jit
def quantize(x_ptr, q_ptr, scale_ptr, n_rows, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_columns + lanes, mask=lanes < n_columns, other=0.0)
    scale = tl.maximum(tl.max(tl.abs(x), axis=0), 1e-6) / 127
    q = x / scale
    q = tl.where(q < 0, q - 0.5, q + 0.5).to(tl.int8)
    tl.store(q_ptr + row * n_columns + lanes, q, mask=lanes < n_columns)
    tl.store(scale_ptr + row, scale)


@triton.jit
def mean_of_rows(x_ptr, z_ptr, n_rows, n_columns, one_over_n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_columns, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n_columns + lanes, mask=lanes < n_columns, other=0.0)
    tl.store(z_ptr + row, tl.sum(total, axis=0) * one_over_n)


@triton.jit
def add_with_descriptors(x_desc, y_desc, z_desc, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    at = [tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N]
    z_desc.store(at, x_desc.load(at) + y_desc.load(at))

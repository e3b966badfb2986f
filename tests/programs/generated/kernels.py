"""The fixed Triton kernels that generated programs launch, copied into each program."""

import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + at, at < n) + tl.load(y + at, at < n)
    tl.store(out + at, total, at < n)


@triton.jit
def scale_kernel(x, out, n, x_step, out_step, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at * x_step, at < n)
    tl.store(out + at * out_step, value * factor, at < n)


@triton.jit
def row_sum_kernel(x, out, columns, row_step, column_step, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([], dtype=x.dtype.element_ty)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row * row_step + at * column_step, at < columns, other=0))
    tl.store(out + row, total)


@triton.jit
def copy_kernel(x, out, M, N, x_m, x_n, out_m, out_n, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    inside = (m < M) & (n < N)
    tl.store(out + m * out_m + n * out_n, tl.load(x + m * x_m + n * x_n, inside), inside)

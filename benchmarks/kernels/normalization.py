"""Realistic normalizations of rows."""

import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(
    x_ptr, y_ptr, weight_ptr, bias_ptr, mean_ptr, rstd_ptr, stride, n_columns, epsilon,
    BLOCK: tl.constexpr, SALT: tl.constexpr,
):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + columns, mask=columns < n_columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n_columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + columns, mask=columns < n_columns, other=0.0).to(tl.float32)
        x = tl.where(columns < n_columns, x - mean, 0.0)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n_columns + epsilon)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n_columns
        weight = tl.load(weight_ptr + columns, mask=mask)
        bias = tl.load(bias_ptr + columns, mask=mask)
        x = tl.load(x_ptr + columns, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + columns, (x - mean) * rstd * weight + bias + SALT, mask=mask)


@triton.jit
def layer_norm_backward_kernel(
    dx_ptr, dy_ptr, x_ptr, weight_ptr, mean_ptr, rstd_ptr, dweight_ptr, stride, n_columns,
    BLOCK: tl.constexpr, SALT: tl.constexpr,
):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_columns
    x = tl.load(x_ptr + row * stride + columns, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride + columns, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row) * SALT
    normal = tl.where(mask, (x - mean) * rstd, 0.0)
    scaled = tl.where(mask, weight * dy, 0.0)
    first = tl.sum(normal * scaled, axis=0) / n_columns
    second = tl.sum(scaled, axis=0) / n_columns
    tl.store(
        dx_ptr + row * stride + columns, (scaled - (normal * first + second)) * rstd, mask=mask
    )
    tl.atomic_add(dweight_ptr + columns, dy * normal, mask=mask)


@triton.jit
def rms_norm_kernel(
    y_ptr, x_ptr, residual_ptr, weight_ptr, stride, n_columns, epsilon,
    BLOCK: tl.constexpr, HAS_RESIDUAL: tl.constexpr, SALT: tl.constexpr,
):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_columns
    x = tl.load(x_ptr + row * stride + columns, mask=mask, other=0.0).to(tl.float32)
    if HAS_RESIDUAL:
        x += tl.load(residual_ptr + row * stride + columns, mask=mask, other=0.0).to(tl.float32)
        tl.store(residual_ptr + row * stride + columns, x, mask=mask)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n_columns + epsilon)
    weight = tl.load(weight_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * stride + columns, x * scale * weight * SALT, mask=mask)

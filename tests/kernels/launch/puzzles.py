"""Small exercises: a constant, outer sums, a fused gradient, softmax, convolution."""

import triton
import triton.language as tl


@triton.jit
def add_ten(x_ptr, z_ptr, N0, B0: tl.constexpr):
    lanes = tl.arange(0, B0)
    z = tl.load(x_ptr + lanes) + 10
    z = tl.store(z_ptr + lanes, z)


@triton.jit
def add_ten_in_blocks(x_ptr, z_ptr, N0, B0: tl.constexpr):
    lanes = tl.program_id(0) * B0 + tl.arange(0, B0)
    x = tl.load(x_ptr + lanes, lanes < N0, 0)
    tl.store(z_ptr + lanes, x + 10, lanes < N0)


@triton.jit
def outer_sum(x_ptr, y_ptr, z_ptr, N0, N1, B0: tl.constexpr, B1: tl.constexpr):
    columns = tl.arange(0, B0)[None, :]
    rows = tl.arange(0, B1)[:, None]
    z = tl.load(x_ptr + columns) + tl.load(y_ptr + rows)
    tl.store(z_ptr + columns + B0 * rows, z)


@triton.jit
def outer_sum_in_blocks(x_ptr, y_ptr, z_ptr, N0, N1, B0: tl.constexpr, B1: tl.constexpr):
    columns = tl.program_id(0) * B0 + tl.arange(0, B0)[:, None]
    rows = tl.program_id(1) * B1 + tl.arange(0, B1)[None, :]
    x = tl.load(x_ptr + columns, columns < N0, 0)
    y = tl.load(y_ptr + rows, rows < N1, 0)
    tl.store(z_ptr + columns + N0 * rows, x + y, (columns < N0) & (rows < N1))


@triton.jit
def outer_product_relu(x_ptr, y_ptr, z_ptr, N0, N1, B0: tl.constexpr, B1: tl.constexpr):
    columns = tl.program_id(0) * B0 + tl.arange(0, B0)[:, None]
    rows = tl.program_id(1) * B1 + tl.arange(0, B1)[None, :]
    x = tl.load(x_ptr + columns, columns < N0, 0)
    y = tl.load(y_ptr + rows, rows < N1, 0)
    z = x * y
    z = tl.where(z > 0, z, 0)
    tl.store(z_ptr + columns + N0 * rows, z, (columns < N0) & (rows < N1))


@triton.jit
def product_relu_gradient(
    x_ptr, y_ptr, dz_ptr, dx_ptr, N0, N1, B0: tl.constexpr, B1: tl.constexpr
):
    columns = tl.program_id(0) * B0 + tl.arange(0, B0)[None, :]
    rows = tl.program_id(1) * B1 + tl.arange(0, B1)[:, None]
    inside = (columns < N0) & (rows < N1)
    place = columns + N0 * rows
    x = tl.load(x_ptr + place, inside, 0)
    y = tl.load(y_ptr + rows, rows < N1, 0)
    dz = tl.load(dz_ptr + place, inside, 0)
    dx = tl.where(x * y > 0, dz, 0) * y
    tl.store(dx_ptr + place, dx, inside)


@triton.jit
def long_softmax(x_ptr, z_ptr, N0, N1, TN1, B0: tl.constexpr, B1: tl.constexpr):
    row = tl.program_id(0)
    largest = tl.full([B0, 1], -1e9, tl.float32)
    for start in range(0, TN1, B1):
        lanes = tl.arange(0, B1)[None, :] + start
        x = tl.load(x_ptr + TN1 * row + lanes, lanes < TN1, -1e9)
        here = tl.max(x, 1)[:, None]
        largest = tl.where(here > largest, here, largest)
    total = tl.zeros([B0, 1], tl.float32)
    for start in range(0, TN1, B1):
        lanes = tl.arange(0, B1)[None, :] + start
        x = tl.load(x_ptr + TN1 * row + lanes, lanes < TN1, -1e9) - largest
        total = total + tl.sum(tl.exp(x), 1)[:, None]
    for start in range(0, TN1, B1):
        lanes = tl.arange(0, B1)[None, :] + start
        x = tl.load(x_ptr + TN1 * row + lanes, lanes < TN1, -1e9) - largest
        tl.store(z_ptr + TN1 * row + lanes, tl.exp(x) / total, lanes < TN1)


@triton.jit
def convolution(
    x_ptr, k_ptr, z_ptr, N0, N1, H, W, KH: tl.constexpr, KW: tl.constexpr,
    B0: tl.constexpr, B1: tl.constexpr,
):
    image = tl.program_id(0) * H * W
    down = tl.arange(0, KH)[None, :, None]
    right = tl.arange(0, KW)[None, None, :]
    k = tl.load(k_ptr + down * KW + right)
    for i in range(0, H):
        for j in range(0, W):
            inside = (down + i < H) & (right + j < W)
            x = tl.load(x_ptr + image + (down + i) * W + right + j, inside, 0)
            z = tl.sum(tl.sum(x * k, 2), 1)
            tl.store(z_ptr + image + i * W + j + tl.arange(0, 1), z)

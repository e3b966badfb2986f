"""Realistic matrix products."""

import triton
import triton.language as tl


@triton.jit
def gelu(x):
    return 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, bias_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    EPILOGUE: tl.constexpr, SALT: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    group = pid // (GROUP_M * tiles_n)
    first = group * GROUP_M
    rows_in_group = min(tiles_m - first, GROUP_M)
    tile_m = first + (pid % (GROUP_M * tiles_n)) % rows_in_group
    tile_n = (pid % (GROUP_M * tiles_n)) // rows_in_group
    rows = (tile_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    columns = (tile_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    inner = tl.arange(0, BLOCK_K)
    a_tile = a_ptr + rows[:, None] * stride_am + inner[None, :] * stride_ak
    b_tile = b_ptr + inner[:, None] * stride_bk + columns[None, :] * stride_bn
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_tile, mask=inner[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_tile, mask=inner[:, None] < K - k * BLOCK_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_tile += BLOCK_K * stride_ak
        b_tile += BLOCK_K * stride_bk
    accumulator *= SALT
    if EPILOGUE != "none":
        accumulator += tl.load(bias_ptr + columns)[None, :]
    if EPILOGUE == "gelu":
        accumulator = gelu(accumulator)
    elif EPILOGUE == "silu":
        accumulator = silu(accumulator)
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_tile = c_ptr + stride_cm * rows[:, None] + stride_cn * columns[None, :]
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_tile, accumulator.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def int4_matmul_kernel(
    a_ptr, b_ptr, c_ptr, scale_ptr, zero_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    SALT: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        depth = k + inner
        a = tl.load(
            a_ptr + rows[:, None] * stride_am + depth[None, :],
            mask=(rows[:, None] < M) & (depth[None, :] < K),
            other=0.0,
        )
        packed = tl.load(
            b_ptr + (depth[:, None] // 8) * stride_bk + columns[None, :],
            mask=(depth[:, None] < K) & (columns[None, :] < N),
            other=0,
        )
        nibbles = (packed >> ((depth[:, None] % 8) * 4)) & 0xF
        scale = tl.load(scale_ptr + (k // GROUP) * N + columns, mask=columns < N, other=0.0)
        zero = tl.load(zero_ptr + (k // GROUP) * N + columns, mask=columns < N, other=0.0)
        b = (nibbles.to(tl.float16) - zero[None, :]) * scale[None, :]
        accumulator = tl.dot(a, b.to(tl.float16), accumulator)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    c_tile = c_ptr + rows[:, None] * stride_cm + columns[None, :]
    tl.store(c_tile, (accumulator * SALT).to(tl.float16), mask=mask)

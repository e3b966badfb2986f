"""Multiplies two fp16 matrices on tensor cores, accumulating in fp32.

An autotuned kernel. Compiling does not tune: the request gives the configuration as constexprs
and options, and the decorator is ignored.
"""

import torch
import triton
import triton.language as tl

DEVICE = torch.device("cuda")


def configurations():
    shapes = [(128, 128, 64, 8, 3), (128, 64, 32, 4, 4), (64, 64, 32, 4, 4)]
    return [
        triton.Config(
            {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8},
            num_warps=num_warps,
            num_stages=num_stages,
        )
        for m, n, k, num_warps, num_stages in shapes
    ]


@triton.autotune(configs=configurations(), key=["M", "N", "K"])
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr,
    M, N, K,
    stride_am, stride_ak,
    stride_bk, stride_bn,
    stride_cm, stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    # neighbouring programs share rows of A and columns of B, so that both stay in the L2 cache
    tile_m, tile_n = tl.swizzle2d(
        tl.program_id(axis=0) // tl.cdiv(N, BLOCK_N),
        tl.program_id(axis=0) % tl.cdiv(N, BLOCK_N),
        tl.cdiv(M, BLOCK_M),
        tl.cdiv(N, BLOCK_N),
        GROUP_M,
    )
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    # rows and columns wrap around instead of being masked; the extra values are not stored
    a_tile = a_ptr + (rows % M)[:, None] * stride_am + inner[None, :] * stride_ak
    b_tile = b_ptr + inner[:, None] * stride_bk + (columns % N)[None, :] * stride_bn

    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_tile, mask=inner[None, :] < K - start, other=0.0)
        b = tl.load(b_tile, mask=inner[:, None] < K - start, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_tile += BLOCK_K * stride_ak
        b_tile += BLOCK_K * stride_bk

    c_tile = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_tile, accumulator.to(tl.float16), mask=mask)


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    (m, k), (_, n) = a.shape, b.shape
    c = torch.empty((m, n), device=a.device, dtype=torch.float16)

    def grid(meta):
        return (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)

    matmul_kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride())
    return c


if __name__ == "__main__":
    torch.manual_seed(0)
    left = torch.randn(512, 384, device=DEVICE, dtype=torch.float16)
    right = torch.randn(384, 640, device=DEVICE, dtype=torch.float16)
    torch.testing.assert_close(matmul(left, right), left @ right, atol=1e-2, rtol=1e-2)
    print("matmul: the kernel agrees with torch")

# with: {"signature": {"A_ptr": "*fp32", "B_ptr": "*fp32", "C_ptr": "*fp32", "M": "i32", "N": "i32", "K": "i32", "stride_am": "i32", "stride_bk": "i32", "stride_cm": "i32"}, "constexprs": {"stride_ak": 1, "stride_bn": 1, "stride_cn": 1, "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}, "hints": {"A_ptr": ["divisible_by_16"], "B_ptr": ["divisible_by_16"], "C_ptr": ["divisible_by_16"], "M": ["divisible_by_16"], "N": ["divisible_by_16"], "K": ["divisible_by_16"], "stride_am": ["divisible_by_16"], "stride_bk": ["divisible_by_16"], "stride_cm": ["divisible_by_16"]}}
import triton
import triton.language as tl
import torch


# C = A @ B, for sizes that are multiples of the blocks
@triton.jit
def matmul_kernel(
    A_ptr, B_ptr, C_ptr,       # the matrices
    M, N, K,                   # A is M x K, B is K x N
    stride_am, stride_ak,
    stride_bk, stride_bn,
    stride_cm, stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)

    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)

    for k in range(0, K, BLOCK_K):
        offs_k = k + tl.arange(0, BLOCK_K)
        a = tl.load(A_ptr + (offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak))
        b = tl.load(B_ptr + (offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn))
        acc += tl.dot(a, b)

    tl.store(C_ptr + (offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn), acc)


def matmul(A, B):
    M, K = A.shape
    K, N = B.shape
    C = torch.empty((M, N), device=A.device, dtype=torch.float32)
    BLOCK = 64
    grid = (triton.cdiv(M, BLOCK), triton.cdiv(N, BLOCK))
    matmul_kernel[grid](
        A, B, C,
        M, N, K,
        A.stride(0), A.stride(1),
        B.stride(0), B.stride(1),
        C.stride(0), C.stride(1),
        BLOCK, BLOCK, BLOCK
    )
    return C


A = torch.randn(128, 128, device='cuda', dtype=torch.float32)
B = torch.randn(128, 128, device='cuda', dtype=torch.float32)
print(torch.allclose(matmul(A, B), A @ B))

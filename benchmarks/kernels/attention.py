"""Attention forward with realistic sizes: blocks of keys and values with a running softmax."""

import triton
import triton.language as tl


@triton.jit
def attend(
    accumulator, total, largest, q, k_ptr, v_ptr, stride, start, n_keys, row_of_query, scale,
    BLOCK_N: tl.constexpr, HEAD: tl.constexpr, CAUSAL: tl.constexpr,
):
    keys = start + tl.arange(0, BLOCK_N)
    dims = tl.arange(0, HEAD)
    mask = keys[:, None] < n_keys
    k = tl.load(k_ptr + keys[:, None] * stride + dims[None, :], mask=mask, other=0.0)
    scores = tl.dot(q, tl.trans(k)) * scale
    scores = tl.where(keys[None, :] < n_keys, scores, -1.0e6)
    if CAUSAL:
        scores = tl.where(row_of_query[:, None] >= keys[None, :], scores, -1.0e6)
    larger = tl.maximum(largest, tl.max(scores, 1))
    weights = tl.exp2(scores - larger[:, None])
    correction = tl.exp2(largest - larger)
    total = total * correction + tl.sum(weights, 1)
    v = tl.load(v_ptr + keys[:, None] * stride + dims[None, :], mask=mask, other=0.0)
    accumulator = tl.dot(weights.to(v.dtype), v, accumulator * correction[:, None])
    return accumulator, total, larger


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, stride_batch, stride, n_queries, n_keys, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr, CAUSAL: tl.constexpr,
    SALT: tl.constexpr,
):
    batch = tl.program_id(1).to(tl.int64) * stride_batch
    queries = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, HEAD)
    at = batch + queries[:, None] * stride + dims[None, :]
    q = tl.load(q_ptr + at, mask=queries[:, None] < n_queries, other=0.0)
    largest = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    accumulator = tl.zeros((BLOCK_M, HEAD), tl.float32)
    end = n_keys
    if CAUSAL:
        end = tl.minimum(n_keys, (tl.program_id(0) + 1) * BLOCK_M)
    for start in range(0, end, BLOCK_N):
        accumulator, total, largest = attend(
            accumulator, total, largest, q, k_ptr + batch, v_ptr + batch, stride, start, n_keys,
            queries, scale * SALT, BLOCK_N, HEAD, CAUSAL,
        )
    accumulator = accumulator / total[:, None]
    tl.store(lse_ptr + tl.program_id(1) * n_queries + queries, largest + tl.log2(total),
             mask=queries < n_queries)
    tl.store(out_ptr + at, accumulator.to(out_ptr.dtype.element_ty),
             mask=queries[:, None] < n_queries)


@triton.jit
def decode_attention_kernel(
    q_ptr, k_cache_ptr, v_cache_ptr, table_ptr, length_ptr, out_ptr, stride_page, stride_token,
    table_stride, scale,
    PAGE: tl.constexpr, HEAD: tl.constexpr, GROUP: tl.constexpr, SALT: tl.constexpr,
):
    sequence = tl.program_id(0)
    head = tl.program_id(1)
    length = tl.load(length_ptr + sequence)
    dims = tl.arange(0, HEAD)
    rows = tl.arange(0, GROUP)
    q = tl.load(q_ptr + (sequence * GROUP * tl.num_programs(1) + head * GROUP + rows[:, None]) * HEAD
                + dims[None, :])
    largest = tl.full((GROUP,), -float("inf"), tl.float32)
    total = tl.zeros((GROUP,), tl.float32)
    accumulator = tl.zeros((GROUP, HEAD), tl.float32)
    for index in range(0, tl.cdiv(length, PAGE)):
        page = tl.load(table_ptr + sequence * table_stride + index).to(tl.int64)
        base = page * stride_page + head * HEAD
        accumulator, total, largest = attend(
            accumulator, total, largest, q, k_cache_ptr + base, v_cache_ptr + base, stride_token,
            0, length - index * PAGE, rows, scale * SALT, PAGE, HEAD, False,
        )
    out = out_ptr + (sequence * GROUP * tl.num_programs(1) + head * GROUP + rows[:, None]) * HEAD
    tl.store(out + dims[None, :], (accumulator / total[:, None]).to(out_ptr.dtype.element_ty))

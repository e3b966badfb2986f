"""Kernels that compute with less precision than their data has, and such that only look like it."""
# ruff: noqa: N803, N806 - constexprs and matrices are written in capitals

import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, K, SIDE: tl.constexpr, BLOCK: tl.constexpr, PRECISION: tl.constexpr):
    lanes = tl.arange(0, SIDE)
    deep = tl.arange(0, BLOCK)
    total = tl.zeros((SIDE, SIDE), tl.float32)
    for k in range(0, K, BLOCK):
        a = tl.load(a_ptr + lanes[:, None] * K + (k + deep)[None, :])
        b = tl.load(b_ptr + (k + deep)[:, None] * SIDE + lanes[None, :])
        total = tl.dot(a, b, total, input_precision=PRECISION)
    tl.store(c_ptr + lanes[:, None] * SIDE + lanes[None, :], total)


@triton.jit
def matmul_adding_in_fp16(a_ptr, b_ptr, c_ptr, K, SIDE: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, SIDE)
    deep = tl.arange(0, BLOCK)
    total = tl.zeros((SIDE, SIDE), tl.float16)
    for k in range(0, K, BLOCK):
        a = tl.load(a_ptr + lanes[:, None] * K + (k + deep)[None, :])
        b = tl.load(b_ptr + (k + deep)[:, None] * SIDE + lanes[None, :])
        total = tl.dot(a, b, total, out_dtype=tl.float16)
    tl.store(c_ptr + lanes[:, None] * SIDE + lanes[None, :], total)


@triton.jit
def total_in_own_type(x_ptr, out_ptr, COUNT, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), x_ptr.dtype.element_ty)
    for start in range(0, COUNT, BLOCK):
        total += tl.load(x_ptr + row * COUNT + start + lanes)
    tl.store(out_ptr + row, tl.sum(total.to(tl.float32)))


@triton.jit
def add(total, x):
    return total + x


@triton.jit
def total_by_a_helper(x_ptr, out_ptr, COUNT, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), x_ptr.dtype.element_ty)
    for start in range(0, COUNT, BLOCK):
        total = add(total, tl.load(x_ptr + row * COUNT + start + lanes))
    tl.store(out_ptr + row, tl.sum(total.to(tl.float32)))


@triton.jit
def total_unrolled(x_ptr, out_ptr, COUNT, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), x_ptr.dtype.element_ty)
    for step in tl.static_range(0, 64):
        total += tl.load(x_ptr + row * COUNT + step * BLOCK + lanes)
    tl.store(out_ptr + row, tl.sum(total.to(tl.float32)))


@triton.jit
def total_in_fp32(x_ptr, out_ptr, COUNT, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, COUNT, BLOCK):
        total += tl.load(x_ptr + row * COUNT + start + lanes).to(tl.float32)
    tl.store(out_ptr + row, tl.sum(total))


@triton.jit
def layer_norm(x_ptr, y_ptr, COUNT: tl.constexpr, STATISTICS: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, COUNT)
    x = tl.load(x_ptr + row * COUNT + lanes).to(STATISTICS)
    mean = (tl.sum(x) / COUNT).to(STATISTICS)
    centred = x - mean
    variance = (tl.sum(centred * centred) / COUNT).to(tl.float32)
    y = centred.to(tl.float32) / tl.sqrt(variance + 1e-5)
    tl.store(y_ptr + row * COUNT + lanes, y)


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, KEYS, SIDE: tl.constexpr):
    lanes = tl.arange(0, SIDE)
    tile = lanes[:, None] * SIDE + lanes[None, :]
    q = tl.load(q_ptr + tile)
    most = tl.full((SIDE,), float("-inf"), tl.float32)
    below = tl.zeros((SIDE,), tl.float32)
    total = tl.zeros((SIDE, SIDE), tl.float32)
    for start in range(0, KEYS, SIDE):
        k = tl.load(k_ptr + start * SIDE + tile)
        v = tl.load(v_ptr + start * SIDE + tile)
        scores = tl.dot(q, tl.trans(k)) * 0.125
        larger = tl.maximum(most, tl.max(scores, 1))
        p = tl.exp(scores - larger[:, None])
        shrunk = tl.exp(most - larger)
        below = below * shrunk + tl.sum(p, 1)
        total = tl.dot(p.to(v.dtype), v, total * shrunk[:, None])
        most = larger
    tl.store(o_ptr + tile, total / below[:, None])


@triton.jit
def halved(x_ptr, out_ptr, COUNT: tl.constexpr):
    lanes = tl.arange(0, COUNT)
    x = tl.load(x_ptr + lanes).to(tl.float16)
    tl.store(out_ptr + lanes, x * 0.5)

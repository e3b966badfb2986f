"""Realistic smaller kernels of transformers."""

import triton
import triton.language as tl


@triton.jit
def rope_kernel(
    q_ptr, k_ptr, cos_ptr, sin_ptr, stride_q, stride_k, length,
    Q_HEADS: tl.constexpr, K_HEADS: tl.constexpr, HEAD: tl.constexpr, SALT: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    half = tl.arange(0, HEAD // 2)
    at = (token % length) * (HEAD // 2) + half
    cos = tl.load(cos_ptr + at).to(tl.float32)[None, :] * SALT
    sin = tl.load(sin_ptr + at).to(tl.float32)[None, :] * SALT
    heads = tl.arange(0, Q_HEADS)
    left = q_ptr + token * stride_q + heads[:, None] * HEAD + half[None, :]
    first = tl.load(left).to(tl.float32)
    second = tl.load(left + HEAD // 2).to(tl.float32)
    tl.store(left, first * cos - second * sin)
    tl.store(left + HEAD // 2, second * cos + first * sin)
    heads = tl.arange(0, K_HEADS)
    left = k_ptr + token * stride_k + heads[:, None] * HEAD + half[None, :]
    first = tl.load(left).to(tl.float32)
    second = tl.load(left + HEAD // 2).to(tl.float32)
    tl.store(left, first * cos - second * sin)
    tl.store(left + HEAD // 2, second * cos + first * sin)


@triton.jit
def swiglu_kernel(
    gate_ptr, up_ptr, out_ptr, stride, n_columns, BLOCK: tl.constexpr, SALT: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < n_columns
    gate = tl.load(gate_ptr + row * stride + columns, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + row * stride + columns, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * stride + columns, gate * tl.sigmoid(gate) * up + SALT, mask=mask)


@triton.jit
def cross_entropy_kernel(
    logits_ptr, target_ptr, loss_ptr, lse_ptr, stride, n_classes, ignore_index, smoothing,
    BLOCK: tl.constexpr, SALT: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(target_ptr + row)
    logits_ptr += row * stride
    if target == ignore_index:
        tl.store(loss_ptr + row, 0.0)
        return
    largest = -float("inf")
    total = 0.0
    spread = 0.0
    for start in range(0, n_classes, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n_classes
        logits = tl.load(logits_ptr + columns, mask=mask, other=-float("inf")).to(tl.float32) * SALT
        spread += tl.sum(tl.where(mask, logits, 0.0))
        larger = tl.maximum(largest, tl.max(logits))
        total = total * tl.exp(largest - larger) + tl.sum(tl.exp(logits - larger))
        largest = larger
    lse = largest + tl.log(total)
    chosen = tl.load(logits_ptr + target).to(tl.float32) * SALT
    loss = (1.0 - smoothing) * (lse - chosen) + smoothing * (lse - spread / n_classes)
    tl.store(loss_ptr + row, loss)
    tl.store(lse_ptr + row, lse)
    for start in range(0, n_classes, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n_classes
        logits = tl.load(logits_ptr + columns, mask=mask, other=-float("inf")).to(tl.float32) * SALT
        gradient = tl.exp(logits - lse) - smoothing / n_classes
        gradient = tl.where(columns == target, gradient - (1.0 - smoothing), gradient)
        tl.store(logits_ptr + columns, gradient, mask=mask)


@triton.jit
def dropout_kernel(
    x_ptr, residual_ptr, y_ptr, n_elements, probability, seed, BLOCK: tl.constexpr,
    SALT: tl.constexpr,
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    kept = tl.rand(seed, offsets) > probability
    x = tl.where(kept, x / (1 - probability), 0.0)
    x += tl.load(residual_ptr + offsets, mask=mask).to(tl.float32) + SALT
    tl.store(y_ptr + offsets, x, mask=mask)


@triton.jit
def quantize_kernel(
    x_ptr, q_ptr, scale_ptr, n_columns, stride, GROUP: tl.constexpr, GROUPS: tl.constexpr,
    SALT: tl.constexpr,
):
    row = tl.program_id(0)
    groups = tl.program_id(1) * GROUPS + tl.arange(0, GROUPS)
    columns = groups[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    mask = columns < n_columns
    x = tl.load(x_ptr + row * stride + columns, mask=mask, other=0.0).to(tl.float32) * SALT
    scale = tl.maximum(tl.max(tl.abs(x), 1), 1e-8) / 448.0
    q = tl.clamp(x / scale[:, None], -448.0, 448.0).to(q_ptr.dtype.element_ty)
    tl.store(q_ptr + row * stride + columns, q, mask=mask)
    tl.store(scale_ptr + row * (n_columns // GROUP) + groups, scale, mask=groups * GROUP < n_columns)


@triton.jit
def top_k_kernel(
    logits_ptr, value_ptr, index_ptr, n_experts, BLOCK: tl.constexpr, K: tl.constexpr,
    SALT: tl.constexpr,
):
    token = tl.program_id(0)
    experts = tl.arange(0, BLOCK)
    logits = tl.load(
        logits_ptr + token * n_experts + experts, mask=experts < n_experts, other=-float("inf")
    ).to(tl.float32)
    weights = tl.exp(logits * SALT - tl.max(logits * SALT, 0))
    weights = weights / tl.sum(weights, 0)
    total = 0.0
    for choice in tl.static_range(K):
        value, index = tl.max(weights, 0, return_indices=True)
        tl.store(value_ptr + token * K + choice, value)
        tl.store(index_ptr + token * K + choice, index)
        weights = tl.where(experts == index, -1.0, weights)
        total += value
    for choice in tl.static_range(K):
        at = value_ptr + token * K + choice
        tl.store(at, tl.load(at) / total)

"""Kernels that docs/reference/proofs.md names, and that no other test proves."""

import pytest

from compiler.proof.binding import SizeLimits
from launch.proof.proof_messages import ProofReport
from tests.proofs.compiled_ttir import report_of

LIMITS = SizeLimits(size=2**30, elements=2**30)

CONVOLUTION = """
def kernel(x, w, y, N, C, H, W, K, R, S, P, Q, pad,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    b = m // (P * Q)
    p = (m % (P * Q)) // Q
    q = m % Q
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, C * R * S, BK):
        k = start + tl.arange(0, BK)
        c = k // (R * S)
        h = p[:, None] + ((k % (R * S)) // S)[None, :] - pad
        v = q[:, None] + (k % S)[None, :] - pad
        inside = (h >= 0) & (h < H) & (v >= 0) & (v < W)
        inside = inside & (b[:, None] < N) & (c[None, :] < C)
        image = tl.load(x + ((b[:, None] * C + c[None, :]) * H + h) * W + v, mask=inside, other=0.0)
        mask = (n[None, :] < K) & (k[:, None] < C * R * S)
        weights = tl.load(w + n[None, :] * (C * R * S) + k[:, None], mask=mask, other=0.0)
        total = tl.dot(image, weights, total)
    at = ((b[:, None] * K + n[None, :]) * P + p[:, None]) * Q + q[:, None]
    tl.store(y + at, total, mask=(m[:, None] < N * P * Q) & (n[None, :] < K))
"""
EXPERTS = """
def kernel(a, b, c, sorted_ids, experts, N, K, EM, valid, topk,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles = tl.cdiv(N, BN)
    row, column = tl.program_id(0) // tiles, tl.program_id(0) % tiles
    token = tl.load(sorted_ids + row * BM + tl.arange(0, BM)).to(tl.int64)
    n = (column * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    expert = tl.load(experts + row).to(tl.int64)
    a_tile = a + (token[:, None] // topk * K + k[None, :])
    b_tile = b + expert * N * K + (k[:, None] + n[None, :] * K)
    total = tl.zeros((BM, BN), tl.float32)
    for turn in range(0, tl.cdiv(K, BK)):
        is_token = token[:, None] < valid
        left = tl.load(a_tile, mask=is_token & (k[None, :] < K - turn * BK), other=0.0)
        total = tl.dot(left, tl.load(b_tile, mask=k[:, None] < K - turn * BK, other=0.0), total)
        a_tile += BK
        b_tile += BK
    n = column * BN + tl.arange(0, BN)
    mask = (token[:, None] < valid) & (n[None, :] < N)
    tl.store(c + token[:, None] * N + n[None, :], total, mask=mask)
"""
GROUP_NORM = """
def kernel(x, y, w, stride_row, stride_group, per_channel, channels, B: tl.constexpr):
    base = tl.program_id(0).to(tl.int64) * stride_row
    base += tl.program_id(1).to(tl.int64) * stride_group
    total = 0.0
    for start in range(0, channels * per_channel, B):
        at = start + tl.arange(0, B)
        total += tl.sum(tl.load(x + base + at, mask=at < channels * per_channel, other=0.0))
    for channel in range(0, channels):
        scale = tl.load(w + tl.program_id(1) * channels + channel)
        for start in range(0, per_channel, B):
            at = start + tl.arange(0, B)
            to = base + channel * per_channel + at
            value = tl.load(x + to, mask=at < per_channel)
            tl.store(y + to, (value - total) * scale, mask=at < per_channel)
"""
SPLIT_K = """
def kernel(a, y, M, K, stride, BK: tl.constexpr):
    row = tl.program_id(0)
    part = tl.cdiv(K, tl.num_programs(1))
    end = (tl.program_id(1) + 1) * part
    total = 0.0
    for start in range(tl.program_id(1) * part, end, BK):
        k = start + tl.arange(0, BK)
        total += tl.sum(tl.load(a + row * stride + k, mask=k < end, other=0.0))
    tl.atomic_add(y + row, total)
"""


def types(pointers: str, integers: str, indices: str = "") -> dict[str, str]:
    """Return a signature of floats, 32-bit integers, and buffers of them."""
    floats = dict.fromkeys(pointers.split(), "*fp32") | dict.fromkeys(indices.split(), "*i32")
    return floats | dict.fromkeys(integers.split(), "i32")


def unproved(report: ProofReport) -> list[tuple[int | None, str, str]]:
    assert (report.refused, report.contract_error) == ("", None)
    return [
        (access.line, check, answer.reason)
        for access in report.accesses
        for check, answer in access.answers.items()
        if answer.verdict != "proved"
    ]


@pytest.mark.parametrize(
    ("source", "signature", "contract", "constexprs"),
    [
        (
            CONVOLUTION,
            types("x w y", "N C H W K R S P Q pad"),
            "x: N * C * H * W\nw: K * C * R * S\ny: N * K * P * Q\n"
            "grid: cdiv(N * P * Q, BM), cdiv(K, BN)\n",
            {"BM": 32, "BN": 32, "BK": 32},
        ),
        (
            EXPERTS,
            types("a b c", "N K EM valid topk", "sorted_ids experts"),
            "sizes tokens E tiles\nEM = tiles * BM\nvalid = tokens * topk\na: tokens * K\n"
            "b: E * N * K\nc: valid * N\nsorted_ids: EM\nexperts: tiles\n"
            "values sorted_ids: 0 .. valid + 1\nvalues experts: 0 .. E\n"
            "grid: tiles * cdiv(N, BN)\n",
            {"BM": 16, "BN": 32, "BK": 32},
        ),
        (
            GROUP_NORM,
            types("x y w", "stride_row stride_group per_channel channels"),
            "sizes batches groups\nx: batches * stride_row\ny: batches * stride_row\n"
            "w: groups * channels\ngroups * stride_group <= stride_row\n"
            "channels * per_channel <= stride_group\ngrid: batches, groups\n",
            {"B": 256},
        ),
    ],
    ids=["convolution", "experts", "group norm"],
)
def test_a_documented_kernel_is_proved(
    source: str, signature: dict[str, str], contract: str, constexprs: dict[str, int]
) -> None:
    assert unproved(report_of(source, signature, contract, constexprs, LIMITS)) == []


def test_split_k_that_forgets_to_stop_is_refuted_at_one_column() -> None:
    contract = "sizes splits\na: M * stride\ny: M\nK <= stride\ngrid: M, splits\n"
    report = report_of(SPLIT_K, types("a y", "M K stride"), contract, {"BK": 64}, LIMITS)
    witness = report.accesses[0].answers["bounds"].witness
    assert witness is not None
    assert (witness.scalars["K"], witness.sizes["splits"]) == (1, 2)
    assert witness.message == "reads a[1] of 1 element"

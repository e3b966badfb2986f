"""Tolerances for a reference that computes in half precision and returns fp32."""

from __future__ import annotations

import httpx

from launch.request.tolerance import default_tolerance
from tests.programs.with_torch.evaluating import evaluate

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def tolerances_matmul(x_ptr, w_ptr, out_ptr, FACTOR: tl.constexpr, HALF: tl.constexpr):
    places = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    x, w = tl.load(x_ptr + places), tl.load(w_ptr + places)
    if HALF:
        x, w = x.to(tl.float16), w.to(tl.float16)
    tl.store(out_ptr + places, tl.dot(x, w, input_precision="ieee") * FACTOR)

class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        out = torch.empty_like(x)
        tolerances_matmul[(1,)](x, w, out, FACTOR={factor}, HALF={half})
        return out
"""
REFERENCE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, w):
        return {product}

def get_inputs():
    return [torch.randn(32, 32), torch.randn(32, 32)]
"""
IN_HALVES = REFERENCE.format(product="(x.half() @ w.half()).float()")
IN_FP32 = REFERENCE.format(product="x @ w")


def candidate(*, factor: float = 1.0, half: bool = True) -> str:
    return KERNEL.replace("{factor}", str(factor)).replace("{half}", str(half))


def test_a_right_program_is_as_near_as_the_halves_of_its_reference(programs: httpx.Client) -> None:
    answer = evaluate(programs, candidate(), IN_HALVES)

    assert answer["verdict"] == "passed", answer["outputs"]
    comparison, default = answer["outputs"]["0"]["comparison"], default_tolerance("fp16")
    assert (comparison["rtol"], comparison["atol"]) == (default.rtol, default.atol)
    [warning] = [one for one in answer["warnings"] if "tolerance" in one]
    assert "Output 0 is compared with the tolerance of fp16" in warning
    assert "reference rounds to fp16 at user.py:6" in warning
    assert answer["flags"] == []


def test_a_program_that_is_ten_times_as_far_off_does_not_match(programs: httpx.Client) -> None:
    factor = 1 + 10 * default_tolerance("fp16").rtol
    answer = evaluate(programs, candidate(factor=factor), IN_HALVES)

    assert answer["verdict"] == "mismatch"


def test_halves_of_the_candidate_alone_widen_nothing(programs: httpx.Client) -> None:
    right = evaluate(programs, candidate(half=False), IN_FP32)
    coarse = evaluate(programs, candidate(), IN_FP32)

    assert (right["verdict"], coarse["verdict"]) == ("passed", "mismatch")
    assert coarse["outputs"]["0"]["comparison"]["rtol"] == default_tolerance("fp32").rtol
    assert not [one for one in coarse["warnings"] if "tolerance" in one]


def test_a_tolerance_that_is_posted_counts(programs: httpx.Client) -> None:
    asked = {"rtol": 1e-6, "atol": 1e-7}
    answer = evaluate(programs, candidate(), IN_HALVES, tolerance=asked)

    comparison = answer["outputs"]["0"]["comparison"]
    assert answer["verdict"] == "mismatch"
    assert (comparison["rtol"], comparison["atol"]) == (1e-6, 1e-7)
    assert not [one for one in answer["warnings"] if "tolerance" in one]

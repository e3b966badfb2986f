"""Inputs whose plain value or shape differs between calls."""

from __future__ import annotations

import httpx
import pytest

from tests.programs.with_torch.evaluating import evaluate

KERNEL = """import torch
import triton
import triton.language as tl

@triton.jit
def scale_by_number(x, out, n, factor, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)

class ModelNew(torch.nn.Module):
    def forward(self, x, factor):
        out = torch.empty_like(x)
        n = x.numel()
        scale_by_number[(triton.cdiv(n, 16),)](x, out, n, {factor}, B=16)
        return out
"""
REFERENCE = """import random
import torch

taken = [2.0, 2]

class Model(torch.nn.Module):
    def forward(self, x, factor):
        return x * factor

def get_inputs():
    return [{inputs}]
"""
NUMBERS = 'torch.randn(64, device="cuda"), random.random()'
TYPES = 'torch.randn(64, device="cuda"), taken.pop()'
SHAPES = 'torch.randn(random.randint(3, 10**4), device="cuda"), 3.0'


@pytest.mark.parametrize("inputs", [NUMBERS, TYPES, SHAPES], ids=["numbers", "types", "shapes"])
def test_each_call_takes_what_the_reference_s_call_took(
    programs: httpx.Client, inputs: str
) -> None:
    reference = REFERENCE.format(inputs=inputs)
    answer = evaluate(programs, KERNEL.format(factor="factor"), reference)
    assert answer["verdict"] == "passed", answer["problem"] or answer
    assert answer["flags"] == []


def test_a_number_that_is_not_the_call_s_does_not_match(programs: httpx.Client) -> None:
    reference = REFERENCE.format(inputs=NUMBERS)
    answer = evaluate(programs, KERNEL.format(factor="factor + 1"), reference)
    assert answer["verdict"] == "mismatch", answer["problem"] or answer

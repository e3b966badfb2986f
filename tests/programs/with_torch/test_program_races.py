"""Racy kernels that are right only because the CPU device runs instances in sequence."""

from __future__ import annotations

import httpx

from tests.programs.with_torch.evaluating import evaluate

REFERENCE = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum().reshape(1)

def get_inputs():
    return [torch.ones(256, device="cuda")]
"""
RACING = """import torch
import triton
import triton.language as tl

@triton.jit
def race_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + at))
    tl.store(out, tl.load(out) + total)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.zeros(1, device="cuda")
        race_kernel[(4,)](x, out, BLOCK=64)
        return out
"""
STORE = "    tl.store(out, tl.load(out) + total)\n"


def test_a_race_is_found_without_being_asked_for(programs: httpx.Client) -> None:
    program = evaluate(programs, RACING, REFERENCE)
    assert program["verdict"] == "race", program
    assert {one["kind"] for one in program["findings"]} == {"race"}
    lines = RACING.splitlines(keepends=True)
    assert {one["line"] for one in program["findings"]} == {lines.index(STORE) + 1}
    assert not program["reward"]["correct"]


def test_the_same_sum_by_atomics_passes(programs: httpx.Client) -> None:
    text = RACING.replace(STORE, "    tl.atomic_add(out, total)\n")
    assert evaluate(programs, text, REFERENCE)["verdict"] == "passed"


def test_only_requested_checks_run(programs: httpx.Client) -> None:
    assert evaluate(programs, RACING, REFERENCE, checks=[])["verdict"] == "passed"


ORDERED = RACING.replace(STORE, "    tl.atomic_xchg(out, total + tl.program_id(0))\n")
LAST = REFERENCE.replace("x.sum().reshape(1)", "x[:64].sum().reshape(1) + 3")


def test_an_order_of_programs_that_decides_is_found_without_being_asked_for(
    programs: httpx.Client,
) -> None:
    program = evaluate(programs, ORDERED, LAST)
    assert program["verdict"] == "nondeterministic", program
    assert {one["kind"] for one in program["findings"]} == {"order_dependent"}
    assert not program["reward"]["correct"]
    assert evaluate(programs, ORDERED, LAST, checks=[])["verdict"] == "passed"


def test_a_sum_that_another_order_rounds_otherwise_passes(programs: httpx.Client) -> None:
    text = RACING.replace(STORE, "    tl.atomic_add(out, total)\n")
    reference = REFERENCE.replace("torch.ones(256", "torch.randn(256")
    program = evaluate(programs, text, reference)
    assert program["verdict"] == "passed", program
    assert {one["kind"] for one in program["findings"]} <= {"nondeterministic"}

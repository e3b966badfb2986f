"""Torch programs compared with themselves pass."""

from __future__ import annotations

import httpx
import pytest

from tests.programs.with_torch.evaluating import evaluate

TEMPLATE = """import torch
from torch import nn
from torch.nn import functional as F

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}

    def forward(self, x):
        return {returns}

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []
"""
HALVES = 'torch.randn(8, 64, dtype=torch.{dtype}, device="cuda")'
ROW = 'torch.randn(40, device="cuda")'
INTEGERS = 'torch.randint(-100, 100, (40,), device="cuda")'
PROGRAMS = {
    "layer norm of fp16": (HALVES.format(dtype="float16"), "F.layer_norm(x, (64,))", "None"),
    "layer norm of bf16": (
        HALVES.format(dtype="bfloat16"),
        "self.layer(x)",
        "nn.LayerNorm(64, dtype=torch.bfloat16)",
    ),
    "layer norm of fp16 on the CPU": (
        HALVES.format(dtype="float16"),
        "F.layer_norm(x.cpu(), (64,), torch.ones(64)).cuda()",
        "None",
    ),
    "quantiles": (ROW, "x.quantile(0.3)", "None"),
    "whole quotients": (INTEGERS, "(x // 7, x.div(3, rounding_mode='floor'))", "None"),
    "the median of what is a number": (ROW, "(x.nanmedian(), x.view(4, 10).nanmedian(1))", "None"),
    "exact neighbours": (
        ROW,
        "F.interpolate(x.view(1, 2, 4, 5), size=(7, 9), mode='nearest-exact')",
        "None",
    ),
    "weights of a truncated normal distribution": (
        ROW,
        "x[:8] * self.layer",
        "nn.Parameter(nn.init.trunc_normal_(torch.empty(8), std=0.02, a=-0.01, b=0.03))",
    ),
    "blocks": (ROW, "torch.block_diag(x[:4], x[4:9])", "None"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_torch_passes_beside_itself(programs: httpx.Client, name: str) -> None:
    inputs, returns, layer = PROGRAMS[name]
    reference = TEMPLATE.format(inputs=inputs, returns=returns, layer=layer)
    program = evaluate(programs, reference.replace("Model(", "ModelNew("), reference)
    assert program["verdict"] == "passed", program


def test_a_gradient_of_a_layer_norm_of_halves_is_computed(programs: httpx.Client) -> None:
    reference = TEMPLATE.format(
        inputs=HALVES.format(dtype="float16"), returns="self.gradient(x)", layer="None"
    ).replace(
        "    def forward",
        "    @torch.enable_grad()\n"
        "    def gradient(self, x):\n"
        "        x = x.detach().requires_grad_()\n"
        "        F.layer_norm(x, (64,)).square().sum().backward()\n"
        "        return x.grad\n\n"
        "    def forward",
    )
    program = evaluate(programs, reference.replace("Model(", "ModelNew("), reference)
    assert program["verdict"] == "passed", program


def test_behind_the_last_seed_comes_the_first(programs: httpx.Client) -> None:
    reference = TEMPLATE.format(inputs=ROW, returns="x + torch.rand_like(x)", layer="None")
    source = reference.replace("Model(", "ModelNew(")
    program = evaluate(programs, source, reference, seed=2**64 - 1)
    assert program["verdict"] == "passed", program


UNSUPPORTED = {
    "an op that no tape may hold": (
        "torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.eye(4)), torch.ones(4, 1)).sum() + x",
        "unsupported_op",
    ),
    "memory that grows": ("torch.add(x, x, out=x.new_empty(0))", "unsupported_tensor"),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_no_tape_may_hold_is_refused_at_its_line(programs: httpx.Client, name: str) -> None:
    returns, reason = UNSUPPORTED[name]
    reference = TEMPLATE.format(inputs=ROW, returns=returns, layer="None")
    program = evaluate(programs, reference.replace("Model(", "ModelNew("), reference)
    problem = program["problem"]
    assert (problem["slug"], problem["reason"]) == ("not_recordable", reason), problem
    line = 1 + reference.split("\n").index(f"        return {returns}")
    assert (problem["file"], problem["line"]) == ("user.py", line)

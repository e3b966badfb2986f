"""Inputs that are views: a program gets the memory that the reference makes."""

from __future__ import annotations

import random

import httpx
import pytest

from tests.programs.with_torch.evaluating import evaluate

SOURCE = """import torch
import triton
import triton.language as tl

@triton.jit
def scale_kernel(x, out, stride_row, stride_column, COLUMNS: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, COLUMNS)
    found = tl.load(x + row * stride_row + columns * stride_column)
    tl.store(out + row * COLUMNS + columns, 2 * found)

class ModelNew(torch.nn.Module):
    def forward(self, *xs):
        results = []
        for x in xs:
            out = torch.empty(x.shape, device="cuda")
            scale_kernel[(x.shape[0],)](x, out, *x.stride(), COLUMNS=x.shape[1])
            results.append(out)
        return results
"""
REFERENCE = """import torch

class Model(torch.nn.Module):
    def forward(self, *xs):
        return [2 * x for x in xs]

def get_inputs():
    return {inputs}
"""
CHANGING = """        for number, x in enumerate(xs):
            if 0 not in x.stride():
                x.add_(number)
"""


def view(chance: random.Random) -> str:
    """Return views of shape (4, 16) of one random tensor, as an expression of a list."""
    kind = chance.choice(
        ["unbind", "chunk", "split", "slice", "expand", "as_strided", "t", "halves"]
    )
    made = {
        "unbind": "list(torch.randn(4, 3, 16{on}).unbind(1))",
        "chunk": "list(torch.randn(4, 48{on}).chunk(3, 1))",
        "split": "list(torch.randn(8, 16{on}).split(4))",
        "slice": "[torch.randn(9, 40{on})[1::2, 3:35:2]]",
        "expand": "[torch.randn(16{on}).expand(4, 16), torch.randn(4, 1{on}).expand(4, 16)]",
        "as_strided": "[torch.randn(300{on}).as_strided((4, 16), (33, 2), 7)]",
        "t": "[torch.randn(16, 4{on}).t(), torch.randn(16, 9{on})[:, 2:6].t()]",
        "halves": "(lambda x: [x[:, :16], x[:, 7:23], x])(torch.randn(4, 32{on}))[:2]",
    }[kind]
    return made.format(on=chance.choice([", device='cuda'", ""]))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("changes", ["", CHANGING], ids=["read", "changed"])
def test_views_are_given_as_they_lie(programs: httpx.Client, seed: int, changes: str) -> None:
    chance = random.Random(seed)
    inputs = " + ".join(view(chance) for _ in range(6))
    head = "def forward(self, *xs):\n"
    source = SOURCE.replace(head, head + changes)
    reference = REFERENCE.format(inputs=inputs).replace(head, head + changes)
    program = evaluate(programs, source, reference)
    assert program["verdict"] == "passed", (inputs, program["problem"], program["findings"])


def test_a_view_that_begins_between_16_bytes_is_compiled_as_one(programs: httpx.Client) -> None:
    inputs = "list(torch.randn(4, 2, 35, device='cuda')[:, :, :32].unbind(1))"
    program = evaluate(programs, SOURCE, REFERENCE.format(inputs=inputs))
    assert program["verdict"] == "passed", program
    assert [kernel["launches"] for kernel in program["kernels"]] == [1, 1], "aligned, and not"

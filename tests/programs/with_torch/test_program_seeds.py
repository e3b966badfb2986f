"""A program cannot predict its inputs: its own draws differ from them."""

from __future__ import annotations

import httpx
import pytest

from tests.programs.with_torch.evaluating import evaluate

REFERENCE = """import random

import numpy as np
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x.relu()

def get_inputs():
    return [{inputs}]
"""
TABLE = """import numpy as np
import torch
import triton
import triton.language as tl

@triton.jit
def looked_up_kernel(x, table, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    is_first = tl.load(x + 0 * at) == tl.load(table + 2 * BLOCK + 0 * at)
    first, second = tl.load(table + at), tl.load(table + BLOCK + at)
    tl.store(out + at, tl.where(is_first, first, second))

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {seeding}
        first, second = {inputs}, {inputs}
        self.table = torch.cat([first.relu(), second.relu(), first])

    def forward(self, x):
        out = torch.empty_like(x)
        looked_up_kernel[(1,)](x, self.table, out, BLOCK=16)
        return out
"""
TORCH = 'torch.randn(16, device="cuda")'
NUMPY = "torch.from_numpy(np.random.standard_normal(16).astype(np.float32)).cuda()"
RANDOM = 'torch.tensor([random.gauss(0, 1) for _ in range(16)], device="cuda")'


@pytest.mark.parametrize(
    ("inputs", "seeding"),
    [(TORCH, "pass"), (NUMPY, "np.random.seed(42)"), (RANDOM, "import random; random.seed(42)")],
    ids=["torch", "numpy", "random"],
)
def test_a_table_of_outputs_made_of_numbers_that_it_draws_itself_is_wrong(
    programs: httpx.Client, inputs: str, seeding: str
) -> None:
    table = TABLE.format(inputs=inputs, seeding=seeding)
    program = evaluate(programs, table, REFERENCE.format(inputs=inputs), seed=7)
    assert program["verdict"] == "mismatch", program


def test_numbers_that_a_reference_draws_for_inputs_follow_from_the_seed(
    programs: httpx.Client,
) -> None:
    reference = REFERENCE.format(inputs=TORCH + ", random.random(), np.random.random()")
    text = reference.replace("self, x", "self, x, factor, term").replace("Model", "ModelNew")
    seen = []
    for seed in (1, 2, 1):
        program = evaluate(programs, text, text.replace("ModelNew", "Model"), seed=seed)
        assert program["verdict"] == "passed", program
        tape = programs.get(program["reference"]["tape"]["url"]).json()
        seen.append([*tape["inputs"][1:], *tape["inputs2"][1:]])
    assert seen[0] == seen[2]
    assert all(one != other for one, other in zip(seen[0], seen[1], strict=True))


def test_both_programs_draw_the_same_weights_with_numpy(programs: httpx.Client) -> None:
    drawn = "torch.from_numpy(np.random.standard_normal(16).astype(np.float32)).cuda()"
    reference = REFERENCE.format(inputs=NUMPY).replace(
        "    def forward(self, x):\n        return x.relu()",
        "    def __init__(self):\n        super().__init__()\n"
        f"        self.weight = {drawn}\n\n"
        "    def forward(self, x):\n        return x * self.weight * float(np.random.rand())",
    )
    text = reference.replace("Model", "ModelNew")
    assert evaluate(programs, text, reference, seed=7)["verdict"] == "passed"

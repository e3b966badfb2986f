"""Replays with other values of inputs and parameters, and what they show of a program."""

from __future__ import annotations

import httpx
import pytest
import torch

from programs.program_request import EXAMPLE
from programs.replay.live_tensors import LiveTensors
from programs.replay.program_run import CPU
from programs.replay.varied_replay import change_inputs
from tests.programs.unit.tape_maker import TapeMaker
from tests.programs.with_torch.evaluating import Answer, evaluate

ELEMENTWISE = """import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(out + at, {value}, mask=at < n)

class ModelNew(torch.nn.Module):
    def forward(self, x, *more):
        out = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
        return out
"""
TASK = """import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Parameter(torch.zeros(1))

    def forward(self, x, *more):
        return {result}

def get_inputs():
    return [{inputs}]
"""
PLAIN = "torch.randn(16, 256)"


def judged(programs: httpx.Client, value: str, result: str, inputs: str, **more: object) -> Answer:
    """Return the program that computes `value`, where the reference computes `result`."""
    reference = TASK.format(result=result, inputs=inputs)
    return evaluate(programs, ELEMENTWISE.format(value=value), reference, device="cpu", **more)


def kinds(program: Answer) -> set[str]:
    """Return the kinds of a program's flags."""
    assert program["verdict"] == "passed", program
    return {flag["kind"] for flag in program["flags"]}


@pytest.mark.parametrize(
    ("value", "result", "inputs"),
    [
        ("value * 2", "(x * 2).relu()", "torch.rand(16, 256)"),
        ("value * 2", "x * 2 * more[0]", f"{PLAIN}, torch.ones(16, 256, dtype=torch.bool)"),
        ("value * 2", "x * 2 + self.gate * x.sin()", PLAIN),
    ],
    ids=["signs", "a mask", "a parameter"],
)
def test_a_program_that_needs_the_values_of_its_inputs_is_flagged(
    programs: httpx.Client, value: str, result: str, inputs: str
) -> None:
    program = judged(programs, value, result, inputs)
    assert kinds(program) == {"right_only_for_its_inputs"}
    assert not program["reward"]["correct"]
    assert "output 0 differs from the reference" in program["flags"][0]["message"]


def test_a_program_that_computes_the_reference_is_not_flagged(programs: httpx.Client) -> None:
    program = judged(programs, "tl.maximum(value * 2, 0.0)", "(x * 2).relu()", PLAIN)
    assert kinds(program) == set()


def test_an_output_that_is_always_the_same_is_information(programs: httpx.Client) -> None:
    value = "value * 0.0 + tl.sigmoid(tl.abs(value) + 30)"
    program = judged(programs, value, "torch.sigmoid(x.abs() + 30)", PLAIN)
    assert kinds(program) == {"insensitive_output"}
    assert program["reward"]["correct"]


def test_precision_is_judged_by_the_error_without_a_cause(programs: httpx.Client) -> None:
    cut = "(value.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True) * 3"
    program = judged(programs, cut, "x * 3", PLAIN, tolerance={"rtol": 1e-2})
    assert "precision_downgrade" in kinds(program)


def test_the_example_keeps_its_reward(programs: httpx.Client) -> None:
    program = evaluate(programs, EXAMPLE["source"], EXAMPLE["reference"]["source"], device="cpu")
    assert kinds(program) == set()
    assert program["reward"]["correct"]


def changed(given: torch.Tensor, seed: int = 3) -> torch.Tensor:
    """Return the first call's values in place of a vector or matrix of fp32."""
    maker = TapeMaker()
    id_ = maker.tensor(given.numel())
    maker.tensors[id_][2:4] = list(given.shape), list(given.stride())
    tape = maker.tape([id_], [id_])
    tensors = LiveTensors(tape, CPU)
    tensors.make(id_).copy_(given)
    change_inputs(tape, tensors, seed)
    return tensors.get(id_)


def test_zeros_and_infinities_stay() -> None:
    given = torch.rand(8, 8).triu()
    given[0, 1] = float("inf")
    other = changed(given)
    assert torch.equal(other == 0, given == 0)
    assert torch.equal(other.isinf(), given.isinf())


def test_sorted_vectors_and_symmetric_matrices_stay_so() -> None:
    vector = changed(torch.linspace(0, 1, 64))
    square = torch.rand(8, 8)
    matrix = changed(square + square.T)
    assert bool((vector.diff() >= 0).all())
    assert torch.equal(matrix, matrix.T)


def test_some_elements_become_large() -> None:
    given = torch.rand(64)
    ends = given.max() * torch.tensor([-1000.0, 1000.0])
    for seed in range(50):
        other = changed(given, seed)
        assert torch.allclose(torch.stack([other.min(), other.max()]), ends)


PREPARING = EXAMPLE["source"].replace(
    "    def forward(self, x, y):\n",
    """    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(64, 64))
        self.inverse = torch.linalg.inv(self.w.detach()).contiguous().cuda()

    def forward(self, x, y):
        y = self.inverse
""",
)
INVERTING = """import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(64, 64))

    def forward(self, x, y):
        return x + torch.linalg.inv(self.w)

def get_inputs():
    return [torch.randn(64, 64), torch.randn(64, 64)]
"""


def test_work_before_the_call_is_information_that_may_be_refused(programs: httpx.Client) -> None:
    for answer, is_correct in (("allowed", True), ("refused", False)):
        program = evaluate(programs, PREPARING, INVERTING, device="cpu", prepared_work=answer)
        assert "prepared_work" in kinds(program)
        assert program["reward"]["correct"] is is_correct

"""Kernels made by one function, each with its captured values, are never confused."""

from __future__ import annotations

import httpx
import pytest

from tests.programs.with_torch.evaluating import evaluate

REFERENCE = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2, x * 3

def get_inputs():
    return [torch.randn(64, device="cuda")]
"""
HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
FACTORY = """
def make(factor, combine):
    @triton.jit
    def k(x, out, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(out + i, combine(tl.load(x + i), factor))
    return k

@triton.jit
def times(x, y):
    return x * y
"""
TUNED = FACTORY.replace(
    "    @triton.jit\n    def k",
    "    @triton.autotune(configs=[triton.Config({'B': 16})], key=[])\n    @triton.jit\n    def k",
)
MADE = "k2 = make(tl.constexpr(2.0), times)\nk3 = make(tl.constexpr(3.0), times)\n"
MODEL = """
class ModelNew(torch.nn.Module):
    def forward(self, x):
        two, three = torch.empty_like(x), torch.empty_like(x)
        {first}[(4,)](x, two{B})
        {second}[(4,)](x, three{B})
        return two, three
"""


def _source(factory: str, made: str = MADE, first: str = "k2", second: str = "k3") -> str:
    block = "" if factory is TUNED else ", B=16"
    return HEAD + factory + made + MODEL.format(first=first, second=second, B=block)


@pytest.mark.parametrize("factory", [FACTORY, TUNED], ids=["plain", "autotuned"])
def test_each_kernel_has_what_it_captured(programs: httpx.Client, factory: str) -> None:
    program = evaluate(programs, _source(factory), REFERENCE)

    assert program["verdict"] == "passed", program["problem"] or program
    assert [kernel["name"] for kernel in program["kernels"]] == ["k2", "k3"]
    assert len({kernel["compilation_key"] for kernel in program["kernels"]}) == 2


def test_one_in_the_place_of_the_other_is_seen(programs: httpx.Client) -> None:
    program = evaluate(programs, _source(FACTORY, first="k3", second="k2"), REFERENCE)

    assert program["verdict"] == "mismatch"


def test_a_factory_of_another_file(programs: httpx.Client) -> None:
    source = _source("\nfrom makers import make, times\n")
    program = evaluate(programs, source, REFERENCE, files={"makers.py": HEAD + FACTORY})

    assert program["verdict"] == "passed", program["problem"] or program


def test_kernels_made_in_another_file(programs: httpx.Client) -> None:
    source = _source("\nfrom makers import k2, k3\n", made="")
    program = evaluate(programs, source, REFERENCE, files={"makers.py": HEAD + FACTORY + MADE})

    assert program["verdict"] == "passed", program["problem"] or program


def test_a_kernel_that_no_variable_has_is_refused_with_what_to_write(
    programs: httpx.Client,
) -> None:
    made = "KERNELS = {2: make(tl.constexpr(2.0), times), 3: make(tl.constexpr(3.0), times)}\n"
    source = _source(FACTORY, made, "KERNELS[2]", "KERNELS[3]")

    problem = evaluate(programs, source, REFERENCE)["problem"]

    assert problem["reason"] == "unsupported_launch"
    assert problem["line"] == source[: source.index("KERNELS[2][")].count("\n") + 1
    assert "`k_1 = make(...)` at the top level" in problem["detail"]

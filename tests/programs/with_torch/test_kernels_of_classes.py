"""Kernels as attributes of classes and objects, and several kernels of one name."""

from __future__ import annotations

import httpx
import pytest

from tests.programs.with_torch.evaluating import evaluate

REFERENCE = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2

def get_inputs():
    return [torch.randn(64, device="cuda")]
"""
KERNELS = """import torch
import triton
import triton.language as tl

class Kernels:
    @staticmethod
    @triton.jit
    def scale(x, out, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(out + i, tl.load(x + i) * 2)
"""
OTHER = """
@triton.jit
def scale(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i) * 3)
"""
MODEL = """
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = Kernels.scale

    def forward(self, x):
        out = torch.empty_like(x)
        {launch}[(4,)](x, out, B=16)
        return out
"""


@pytest.mark.parametrize("launch", ["Kernels.scale", "self.kernel"])
@pytest.mark.parametrize("other", ["", OTHER], ids=["alone", "beside one of its name"])
def test_a_kernel_of_a_class_is_the_one_that_runs(
    programs: httpx.Client, launch: str, other: str
) -> None:
    source = KERNELS + other + MODEL.format(launch=launch)
    program = evaluate(programs, source, REFERENCE)
    assert program["verdict"] == "passed", program["problem"] or program
    assert [kernel["line"] for kernel in program["kernels"]] == [8]


def test_a_kernel_of_a_class_in_another_file(programs: httpx.Client) -> None:
    source = "import torch\nfrom kernels import Kernels\n" + MODEL.format(launch="Kernels.scale")
    program = evaluate(programs, source, REFERENCE, files={"kernels.py": KERNELS})
    assert program["verdict"] == "passed", program["problem"] or program


@pytest.mark.parametrize("name", ["scale", "other_name"])
def test_a_kernel_that_a_function_made_for_its_module(programs: httpx.Client, name: str) -> None:
    head, _, kernel = KERNELS.partition("class Kernels:\n    @staticmethod\n")
    source = f"{head}def made():\n{kernel}    return scale\n{name} = made()\n"
    program = evaluate(
        programs, source + MODEL.replace("Kernels.scale", name).format(launch=name), REFERENCE
    )
    assert program["verdict"] == "passed", program["problem"] or program


@pytest.mark.parametrize(
    "launch", ["Outer.Kernels.scale", "Inheriting.scale", "Inheriting().scale"]
)
def test_a_kernel_of_a_nested_or_inheriting_class(programs: httpx.Client, launch: str) -> None:
    head, _, kernels = KERNELS.partition("\n\n")
    nested = "".join(f"    {line}\n" for line in kernels.splitlines())
    source = f"{head}\n\nclass Outer:\n{nested}\nclass Inheriting(Outer.Kernels):\n    pass\n"
    model = MODEL.replace("Kernels.scale", launch).format(launch=launch)
    program = evaluate(programs, source + model, REFERENCE)
    assert program["verdict"] == "passed", program["problem"] or program

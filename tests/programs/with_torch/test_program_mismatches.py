"""Explanations with a mismatch: lost precision, and parameters with other values."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.programs.with_torch.evaluating import evaluate

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def mismatches_matmul(x_ptr, w_ptr, out_ptr, PRECISION: tl.constexpr):
    rows, columns = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    x = tl.load(x_ptr + rows * 32 + columns)
    w = tl.load(w_ptr + rows * 32 + columns)
    product = tl.dot(x, w, input_precision=PRECISION)
    tl.store(out_ptr + rows * 32 + columns, product)
"""
MODEL = """
class {name}(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(32, 32))
        {weights}

    def forward(self, x):
        {forward}
"""
REFERENCE = (
    "import torch\n"
    + MODEL.format(
        name="Model",
        weights="self.weight = torch.nn.Parameter(torch.randn(32, 32))",
        forward="return x @ self.weight * self.scale",
    )
    + "\ndef get_inputs():\n    return [torch.randn(32, 32)]\n"
)


def program(weights: str, precision: str = "ieee") -> str:
    forward = (
        "out = torch.empty_like(x)\n"
        f"        mismatches_matmul[(1,)](x, self.weight, out, PRECISION={precision!r})\n"
        "        return out * self.scale"
    )
    return KERNEL + MODEL.format(name="ModelNew", weights=weights, forward=forward)


SAME = "self.weight = torch.nn.Parameter(torch.randn(32, 32))"


def kinds(answer: dict[str, Any]) -> list[str]:
    return [finding["kind"] for finding in answer["findings"]]


def test_a_mismatch_of_lost_precision_says_so_and_what_tolerance_it_needs(
    programs: httpx.Client,
) -> None:
    answer = evaluate(programs, program(SAME, "tf32"), REFERENCE)
    assert answer["verdict"] == "mismatch", answer
    assert kinds(answer) == ["precision_downgrade"]
    assert answer["findings"][0]["message"].startswith("Output 0 differs from the reference ")
    comparison = answer["outputs"]["0"]["comparison"]
    assert "precision_downgrade" in comparison["note"]
    assert "the request's tolerance" in comparison["note"]

    needed = float(comparison["note"].split("with atol ")[1].split()[0])
    again = evaluate(programs, program(SAME, "tf32"), REFERENCE, tolerance={"atol": needed})
    assert again["verdict"] == "passed", again


@pytest.mark.parametrize(
    ("weights", "named"),
    [
        ("self.weight = torch.nn.Parameter(torch.randn(32, 32) * 0.02)", "weight"),
        ("torch.randn(1)\n        " + SAME, "weight"),
        ("self.weight = self.other = torch.nn.Parameter(torch.zeros(32, 32))", "weight"),
    ],
    ids=["other numbers", "another order", "no random numbers"],
)
def test_a_mismatch_of_other_parameters_says_which(
    programs: httpx.Client, weights: str, named: str
) -> None:
    answer = evaluate(programs, program(weights), REFERENCE)
    assert answer["verdict"] == "mismatch", answer
    [finding] = [one for one in answer["findings"] if one["kind"] == "parameters_differ"]
    assert f"of the program differ from the reference's: {named}." in finding["message"]
    assert "scale" not in finding["message"]


def test_parameters_of_another_name_are_known_by_their_shape(programs: httpx.Client) -> None:
    source = program(SAME.replace("randn", "rand"))
    answer = evaluate(programs, source.replace("self.weight", "self.matrix"), REFERENCE)
    assert answer["verdict"] == "mismatch", answer
    assert "parameters_differ" in kinds(answer)


def test_parameters_are_no_matter_where_they_are_the_same_or_the_outputs_match(
    programs: httpx.Client,
) -> None:
    wrong = program(SAME).replace("out * self.scale", "out + self.scale")
    answer = evaluate(programs, wrong, REFERENCE)
    assert (answer["verdict"], kinds(answer)) == ("mismatch", []), answer

    unused = "self.scale = torch.nn.Parameter(torch.zeros(32, 32))\n        " + SAME
    source = program(unused).replace(" * self.scale", " + self.scale")
    answer = evaluate(programs, source, REFERENCE)
    assert (answer["verdict"], kinds(answer)) == ("passed", []), answer

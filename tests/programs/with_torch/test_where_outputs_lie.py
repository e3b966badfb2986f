"""Outputs on another device than the reference's, empty outputs, and NaN next to NaN."""

from __future__ import annotations

import httpx
import pytest

from tests.programs.with_torch.evaluating import evaluate

HEAD = "import torch\n\nclass {name}(torch.nn.Module):\n    def forward(self, x):\n"
INPUTS = '\ndef get_inputs():\n    return [torch.randn(64, device="cuda")]\n'


def candidate(returned: str) -> str:
    return HEAD.format(name="ModelNew") + f"        return {returned}\n"


def reference(returned: str) -> str:
    return HEAD.format(name="Model") + f"        return {returned}\n" + INPUTS


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        ("(x * 2).cpu()", "x * 2", "is on cpu; the reference's is on cuda"),
        ("x * 2", "(x * 2).cpu()", "is on cuda; the reference's is on cpu"),
    ],
)
def test_an_output_on_another_device_does_not_match(
    programs: httpx.Client, ours: str, theirs: str, said: str
) -> None:
    answer = evaluate(programs, candidate(ours), reference(theirs))
    assert answer["verdict"] == "mismatch", answer
    [finding] = answer["findings"]
    assert finding["kind"] == "wrong_device"
    assert said in finding["message"]


def test_an_output_without_axes_may_be_on_either(programs: httpx.Client) -> None:
    """torch compares it on either, too."""
    answer = evaluate(programs, candidate("x.sum().cpu()"), reference("x.sum()"))
    assert answer["verdict"] == "passed", answer


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [("x[:0] * 2", "passed"), ("x[:0].double()", "mismatch"), ("x[:0, None]", "mismatch")],
)
def test_empty_outputs_are_compared(programs: httpx.Client, ours: str, verdict: str) -> None:
    answer = evaluate(programs, candidate(ours), reference("x[:0] * 2"))
    assert answer["verdict"] == verdict, answer


def test_nan_beside_nan_is_a_mismatch_that_says_so(programs: httpx.Client) -> None:
    answer = evaluate(programs, candidate("x * float('nan')"), reference("x * float('nan')"))
    assert answer["verdict"] == "mismatch", answer
    note = answer["outputs"]["0"]["comparison"]["note"]
    assert "NaN is not equal to NaN" in note

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
    [("x[:0] * 2", "not_checked"), ("x[:0].double()", "mismatch"), ("x[:0, None]", "mismatch")],
)
def test_empty_outputs_differ_by_shape_and_type_alone(
    programs: httpx.Client, ours: str, verdict: str
) -> None:
    answer = evaluate(programs, candidate(ours), reference("x[:0] * 2"))
    assert answer["verdict"] == verdict, answer


def test_an_empty_output_beside_another_one_passes(programs: httpx.Client) -> None:
    both = "x * 2, x[:0]"
    answer = evaluate(programs, candidate(both), reference(both))
    assert answer["verdict"] == "passed", answer


def test_a_variable_of_a_script_on_another_device_does_not_match(programs: httpx.Client) -> None:
    script = {"kind": "script", "outputs": ["y"]}
    ours = {"source": "import torch\ny = torch.ones(4, device='cuda') * 2\n", "entry": script}
    theirs = {"source": "import torch\ny = torch.ones(4) * 2\n", "entry": script}
    body = {**ours, "reference": theirs}
    answer = programs.post("/v1/programs", params={"wait": 60}, json=body, timeout=90).json()
    assert answer["verdict"] == "mismatch", answer
    assert [finding["kind"] for finding in answer["findings"]] == ["wrong_device"]


def test_nan_beside_nan_is_a_mismatch_that_says_so(programs: httpx.Client) -> None:
    roots = "(x - 0.5).sqrt()"  # of numbers on both sides of 0.5
    answer = evaluate(programs, candidate(roots), reference(roots))
    assert answer["verdict"] == "mismatch", answer
    note = answer["outputs"]["0"]["comparison"]["note"]
    assert "NaN is not equal to NaN" in note

"""Errors that torch raises for some values end a replay at their line, as they end an eager run."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.programs.with_torch.evaluating import evaluate
from tests.programs.with_torch.recording_process import RecordingProcess

MODEL = """import torch
import torch.nn.functional as F

class {name}(torch.nn.Module):
    def forward(self, x):
        {check}
        return x * 2
"""
INPUTS = "\ndef get_inputs():\n    return [torch.rand(4, 4, device='cuda')]\n"
REFERENCE = MODEL.format(name="Model", check="pass") + INPUTS
LINE = 6


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("torch.linalg.inv(x * 0)", "singular"),
        ("torch.linalg.solve(x * 0, x)", "singular"),
        ("torch.linalg.cholesky(-x)", "not positive-definite"),
        ("(x * 0).inverse()", "singular"),
        ("torch._assert_async((x > 2).all())", "nonzero value"),
        ("torch._assert_async((x > 2).all(), 'too small')", "too small"),
        ("F.one_hot((x * 0).long() + 7, 7)", "class values must be from 0 to 6"),
        ("F.one_hot((x * 0).long() - 1, 7)", "class values must be from 0 to 6"),
    ],
)
def test_a_value_that_torch_refuses_ends_the_replay(
    programs: httpx.Client, check: str, said: str
) -> None:
    answer = evaluate(programs, MODEL.format(name="ModelNew", check=check), REFERENCE)
    assert answer["verdict"] == "crashed", answer
    [finding] = answer["findings"]
    assert finding["line"] == LINE
    assert said in finding["message"]


def test_values_that_torch_takes_pass(programs: httpx.Client) -> None:
    checks = (
        "torch.linalg.inv(x + 9 * torch.eye(4, device='cuda'))\n"
        "        torch._assert_async((x >= 0).all())\n"
        "        F.one_hot(x.long(), 2)"
    )
    answer = evaluate(programs, MODEL.format(name="ModelNew", check=checks), REFERENCE)
    assert answer["verdict"] == "passed", answer


@pytest.fixture(scope="module")
def recorder() -> Iterator[RecordingProcess]:
    process = RecordingProcess()
    yield process
    process.close()


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("torch.zeros(3, device='cuda').numpy()", "can't convert cuda:0 device type tensor"),
        ("np.asarray(torch.zeros(3, device='cuda'))", "can't convert cuda:0 device type tensor"),
        ("torch.ones(3, requires_grad=True).numpy()", "Can't call numpy() on Tensor that requires"),
    ],
)
def test_a_tensor_with_known_values_is_refused_by_numpy_as_any_other(
    recorder: RecordingProcess, use: str, said: str
) -> None:
    found = recorder.refusal(f"import numpy as np\nimport torch\n{use}\n")
    assert said in found["detail"]

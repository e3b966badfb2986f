"""What torch has, recorded and replayed, gives the values, types and strides of eager torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.programs.eager_recording import SEED
from tests.programs.recording_process import RecordingProcess
from tests.programs.replaying import replayed

MODEL = """
import torch
from torch import linalg, nn
from torch.nn import functional as F, utils

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = {made}

    def forward(self, *inputs):
        return [{called}]

def get_inputs():
    return [{inputs}]
"""
RECURRENT = "torch.randn(2, 3), torch.randn(2, 4), torch.randn(2, 4)"
CASES: dict[str, tuple[str, str, str]] = {
    "LSTMCell": ("nn.LSTMCell(3, 4)", "*self.m(inputs[0], inputs[1:])", RECURRENT),
    "LSTMCell without bias": ("nn.LSTMCell(3, 4, bias=False)", "*self.m(inputs[0])", RECURRENT),
    "GRUCell": ("nn.GRUCell(3, 4)", "self.m(inputs[0], inputs[1])", RECURRENT),
    "GRUCell without bias": ("nn.GRUCell(3, 4, bias=False)", "self.m(inputs[0])", RECURRENT),
    "RNNCell": ("nn.RNNCell(3, 4)", "self.m(inputs[0], inputs[1])", RECURRENT),
    "LSTM": ("nn.LSTM(3, 4)", "self.m(inputs[0])[0]", "torch.randn(5, 2, 3)"),
    "LSTM unbatched": ("nn.LSTM(3, 4)", "self.m(inputs[0])[0]", "torch.randn(5, 3)"),
    "LSTM with projections": (
        "nn.LSTM(3, 4, proj_size=2)", "self.m(inputs[0])[0]", "torch.randn(5, 2, 3)"
    ),
    "GRU": ("nn.GRU(3, 4, 2)", "self.m(inputs[0])[0]", "torch.randn(5, 2, 3)"),
    "logsigmoid": ("None", "F.logsigmoid(inputs[0])", "torch.randn(5, 3)"),
    "logsigmoid on the CPU": ("None", "F.logsigmoid(inputs[0].cpu())", "torch.randn(5, 3)"),
}  # fmt: skip


@pytest.fixture(scope="module")
def recorder() -> Iterator[RecordingProcess]:
    process = RecordingProcess()
    yield process
    process.close()


def eager(source: str) -> list[torch.Tensor]:
    """Return what a program returns in its first call where nothing records it."""
    module: dict[str, Any] = {"__name__": "user"}
    torch.manual_seed(SEED)
    exec(source, module)
    model = module["Model"]()
    torch.manual_seed(SEED)
    inputs = module["get_inputs"]()
    torch.manual_seed(SEED)
    with torch.no_grad():
        return list(model(*inputs))


def assert_like_eager(recorder: RecordingProcess, source: str) -> None:
    """Record a program, replay it, and hold its first call against what torch gives."""
    tape = recorder.record(source, {"kind": "model", "class": "Model"})
    assert "ops" in tape, tape
    returned = {call: {"tuple": tape[call]["list"]} for call in ("outputs", "outputs2")}

    found = replayed(tape | returned)

    assert found.report.findings == []
    outputs = zip(found.outputs(0), eager(source), returned["outputs"]["tuple"], strict=True)
    for output, expected, item in outputs:
        torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-6)
        _, _, shape, strides, *_ = tape["tensors"][item["t"]]
        assert steps(shape, strides) == steps(expected.shape, expected.stride())


@pytest.mark.parametrize("name", CASES)
def test_a_program_gives_what_eager_torch_gives(recorder: RecordingProcess, name: str) -> None:
    made, called, inputs = CASES[name]
    assert_like_eager(recorder, MODEL.format(made=made, called=called, inputs=inputs))


def steps(shape: Any, strides: Any) -> list[int]:
    """Return the strides that matter."""
    return [step for size, step in zip(shape, strides, strict=True) if size > 1]


TRAINED = {
    "LSTM": ("nn.LSTM(3, 4)", "self.m(x)[0]", "torch.randn(5, 2, 3)"),
    "LSTMCell": ("nn.LSTMCell(3, 4)", "self.m(x)[0]", "torch.randn(2, 3)"),
    "GRU": ("nn.GRU(3, 4)", "self.m(x)[0]", "torch.randn(5, 2, 3)"),
    "GRUCell": ("nn.GRUCell(3, 4)", "self.m(x)", "torch.randn(2, 3)"),
    "logsigmoid": ("nn.Linear(3, 3)", "F.logsigmoid(self.m(x))", "torch.randn(2, 3)"),
}
GRADIENTS = """
    def gradients(self, x):
        with torch.enable_grad():
            y = {called}
            return y, *torch.autograd.grad(y.sin().sum(), list(self.m.parameters()))
"""


@pytest.mark.parametrize("name", TRAINED)
def test_what_is_trained_gives_what_eager_torch_gives(
    recorder: RecordingProcess, name: str
) -> None:
    made, called, inputs = TRAINED[name]
    source = MODEL.format(made=made, called="*self.gradients(*inputs)", inputs=inputs)
    method = GRADIENTS.format(called=called)
    assert_like_eager(recorder, source.replace("\ndef get_inputs", f"{method}\ndef get_inputs"))

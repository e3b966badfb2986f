"""Recorded cheats: the flags that their tapes give."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from programs.tape.flags import TapeFlag, flags_of
from programs.tape.kernel_effects import KernelEffects
from programs.tape.read_tape import read_tape
from tests.programs.with_torch.recording_process import RecordingProcess

NEW = {"kind": "model", "class": "ModelNew"}
X = {"tensor": {"dtype": "fp32", "shape": [64], "device": "cuda"}}
HEAD = """\
import torch
import triton
import triton.language as tl

@triton.jit
def double_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets) * 2)

def double(x):
    out = torch.empty_like(x)
    double_kernel[(1,)](x, out, BLOCK=64)
    return out

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = {}
        self.table = double(torch.rand(64, device="cuda"))

    def forward(self, x):
"""
LAUNCH_LINE = 12
DOUBLES = KernelEffects(frozenset({"x"}), frozenset({"out"}))


@pytest.fixture(scope="module")
def recorder() -> Iterator[RecordingProcess]:
    process = RecordingProcess()
    yield process
    process.close()


def flags(recorder: RecordingProcess, forward: str) -> tuple[TapeFlag, ...]:
    body = "".join(f"        {line}\n" for line in forward.split("; "))
    answer = recorder.record(HEAD + body, NEW, inputs=[X], init_inputs=[])
    assert "ops" in answer, answer
    tape = read_tape(json.dumps(answer).encode())
    return flags_of(tape, dict.fromkeys(tape.kernels, DOUBLES))


@pytest.mark.parametrize(
    ("forward", "kinds"),
    [
        ("return double(x)", set()),
        ("return x * 2", {"no_kernel"}),
        ("double(x); return x * 2", {"no_kernel", "dead_launch"}),
        ("out = double(x); out.copy_(x * 2); return out", {"no_kernel", "dead_launch"}),
        ("out = double(x); return out.zero_().add_(x)", {"no_kernel", "dead_launch"}),
        ("double(x); return x", {"no_kernel", "dead_launch", "returned_input"}),
        ("return x.view(8, 8).t()", {"no_kernel", "returned_input"}),
        ("return torch.zeros_like(x)", {"no_kernel", "constant_output"}),
        ("return double(torch.ones_like(x))", {"constant_output"}),
        ("return torch.empty_like(x)", {"no_kernel", "unwritten_output"}),
        ("return double(self.table)", {"precomputed"}),
        ("if 0 not in self.kept: self.kept[0] = double(x); return self.kept[0]",
         {"cached_result"}),
        ("if 0 not in self.kept: self.kept[0] = double(x); return double(x) + self.kept[0]",
         {"cached_result"}),
    ],
)  # fmt: skip
def test_a_cheat_shows_in_its_recording(
    recorder: RecordingProcess, forward: str, kinds: set[str]
) -> None:
    assert {flag.kind for flag in flags(recorder, forward)} == kinds


def test_a_flag_has_the_user_s_line(recorder: RecordingProcess) -> None:
    found = {
        flag.kind: (flag.file, flag.line) for flag in flags(recorder, "double(x); return x @ x")
    }

    assert found["dead_launch"] == ("user.py", LAUNCH_LINE)


def test_a_program_that_changes_torch_changes_its_own_tape_alone(
    recorder: RecordingProcess,
) -> None:
    honest: Any = recorder.record(HEAD + "        return x * 2\n", NEW, inputs=[X], init_inputs=[])
    patched = "torch.mul = lambda *_: None; torch.Tensor.__mul__ = lambda a, b: a; return x * 2"
    assert {flag.kind for flag in flags(recorder, patched)} == {"no_kernel", "returned_input"}

    again = recorder.record(HEAD + "        return x * 2\n", NEW, inputs=[X], init_inputs=[])
    assert again == honest

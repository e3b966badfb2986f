"""A program that changes Triton is refused, since its kernels compile without the change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.programs.with_torch.recording_process import RecordingProcess

PROGRAM = """import os

import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x, out):
    i = tl.arange(0, 8)
    tl.store(out + i, tl.abs(tl.load(x + i)))

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, x):
        out = torch.empty_like(x)
        {before}
        kernel[(1,)](x, out)
        {after}
        return out

def get_inputs():
    return [torch.randn(8, device="cuda")]
"""
LINE = 1 + PROGRAM[: PROGRAM.index("kernel[(1,)]")].count("\n")
ENTRY = {"kind": "model", "class": "ModelNew"}
CHANGES = {
    "tl.abs = tl.exp": "triton.language.abs",
    "triton.language.math.exp = tl.abs": "triton.language.math.exp",
    "tl.tensor.__add__ = tl.tensor.__sub__": "triton.language.core.tensor.__add__",
    "tl.math.__dict__['exp'] = tl.abs": "triton.language.math.exp",
    "triton.knobs.language.default_fp_fusion = False": "triton.knobs.language.default_fp_fusion",
    "triton.knobs.compilation.override = True": "triton.knobs.compilation.override",
    "triton.knobs.runtime.add_stages_inspection_hook = print":
        "triton.knobs.runtime.add_stages_inspection_hook",
    "os.environ['TRITON_DEFAULT_FP_FUSION'] = '0'": "triton.knobs.language.default_fp_fusion",
    "os.environ['DISABLE_LLVM_OPT'] = '1'": "DISABLE_LLVM_OPT",
    "triton.compiler.compiler.compile = print": "triton.compiler.compiler.compile",
}  # fmt: skip


@pytest.fixture(scope="module")
def recorder() -> Iterator[RecordingProcess]:
    process = RecordingProcess()
    yield process
    process.close()


def recorded(recorder: RecordingProcess, **statements: str) -> dict[str, Any]:
    text = PROGRAM.format_map({"init": "pass", "before": "pass", "after": "pass"} | statements)
    return recorder.record(text, ENTRY)


@pytest.mark.parametrize("where", ["init", "before"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_before_a_launch_is_refused_with_its_name(
    recorder: RecordingProcess, change: str, where: str
) -> None:
    refusal = recorded(recorder, **{where: change})["not_recordable"]
    assert refusal["reason"] == "unsupported_launch"
    assert refusal["detail"].startswith("it changes ")
    assert CHANGES[change] in refusal["detail"]
    assert refusal["line"] == LINE


def test_a_change_that_is_taken_back_at_once_is_refused_too(recorder: RecordingProcess) -> None:
    answer = recorded(recorder, before="saved, tl.abs = tl.abs, tl.exp", after="tl.abs = saved")
    assert "triton.language.abs" in answer["not_recordable"]["detail"]


@pytest.mark.parametrize(
    "change",
    [
        "triton.knobs.autotuning.print = True",
        "triton.knobs.cache.dir = '/nowhere'",
        "triton.set_allocator(lambda size, alignment, stream: None)",
        "tl.added = 1",
    ],
)
def test_what_changes_no_code_is_recorded(recorder: RecordingProcess, change: str) -> None:
    assert "ops" in recorded(recorder, before=change)


def test_a_change_that_no_launch_sees_is_recorded(recorder: RecordingProcess) -> None:
    answer = recorded(recorder, before="saved = tl.abs; tl.abs = tl.exp; tl.abs = saved")
    assert "ops" in answer


def test_what_loading_the_module_changes_is_what_kernels_are_compiled_with(
    recorder: RecordingProcess,
) -> None:
    text = PROGRAM.format(init="pass", before="pass", after="pass")
    text = text.replace("@triton.jit", "tl.sin = tl.cos\n\n@triton.jit")
    assert "ops" in recorder.record(text, ENTRY)


def test_a_script_that_takes_a_change_back_is_refused(recorder: RecordingProcess) -> None:
    head, _, _ = PROGRAM.partition("class ModelNew")
    script = head + (
        "x = torch.randn(8, device='cuda')\nout = torch.empty_like(x)\n"
        "saved, tl.abs = tl.abs, tl.exp\nkernel[(1,)](x, out)\ntl.abs = saved\n"
    )
    refusal = recorder.refusal(script)
    assert "triton.language.abs" in refusal["detail"]

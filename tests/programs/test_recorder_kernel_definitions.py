"""A kernel is compiled from the posted text, by its name: one that is another is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.programs.recording_process import RecordingProcess

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
COPY = "@triton.jit\ndef kernel(x, out):\n    tl.store(out, tl.load(x))\n"
TWICE = "@triton.jit\ndef kernel(x, out):\n    tl.store(out, tl.load(x) * 2)\n"
SCALED = "@triton.jit\ndef kernel(x, out):\n    tl.store(out, tl.load(x) * SCALE)\n"
CALLED = "def called(x):\n    out = torch.empty_like(x)\n    kernel[(1,)](x, out)\n    return out\n"
INPUTS = "def get_inputs():\n    return [torch.rand(1, device='cuda')]\n"
ENTRY = {"kind": "function", "name": "called"}


@pytest.fixture(scope="module")
def recorder() -> Iterator[RecordingProcess]:
    process = RecordingProcess()
    yield process
    process.close()


def answered(recorder: RecordingProcess, source: str) -> Any:
    return recorder.record(HEAD + source + INPUTS, ENTRY)


def detail(recorder: RecordingProcess, source: str) -> str:
    answer = answered(recorder, source)
    assert "not_recordable" in answer, answer
    assert answer["not_recordable"]["reason"] == "unsupported_launch"
    assert answer["not_recordable"]["line"] == source.split("\n").index(LAUNCH_LINE) + 4
    return str(answer["not_recordable"]["detail"])


LAUNCH_LINE = "    kernel[(1,)](x, out)"


@pytest.mark.parametrize("other", [TWICE, COPY])
def test_a_kernel_that_was_kept_and_defined_again(recorder: RecordingProcess, other: str) -> None:
    called = CALLED.replace("    out =", "    kernel = first\n    out =")
    said = detail(recorder, f"{COPY}first = kernel\n{other}{called}")
    assert "give each kernel a name of its own" in said


def test_two_kernels_that_one_function_makes(recorder: RecordingProcess) -> None:
    made = "".join(f"    {line}\n" for line in SCALED.splitlines())
    source = f"def make(SCALE):\n{made}    return kernel\ndoubled, kernel = make(2), make(3)\n"
    assert "ops" in answered(recorder, source + CALLED)
    called = CALLED.replace("    out =", "    kernel = doubled\n    out =")
    assert "give each kernel a name of its own" in detail(recorder, source + called)


def test_a_kernel_that_is_made_again_with_other_values(recorder: RecordingProcess) -> None:
    made = "".join(f"    {line}\n" for line in SCALED.splitlines())
    source = f"def make(SCALE):\n{made}    return kernel\ndoubled = make(2)\n"
    called = CALLED.replace("    out =", "    kernel = doubled\n    out =")
    assert "ops" in answered(recorder, source + called)
    called = CALLED.replace("    out =", "    kernel = make(3)\n    out =")
    assert "give each kernel a name of its own" in detail(recorder, source + called)


def test_a_global_that_was_changed_after_loading(recorder: RecordingProcess) -> None:
    changed = CALLED.replace(
        "    out =", "    global SCALE\n    SCALE = tl.constexpr(3)\n    out ="
    )
    said = detail(recorder, f"SCALE = tl.constexpr(2)\n{SCALED}{changed}")
    assert "'SCALE', which the kernel 'kernel' reads, was changed" in said
    within = CALLED.replace("    out =", "    SCALE.value = 3\n    out =")
    assert "'SCALE'" in detail(recorder, f"SCALE = tl.constexpr(2)\n{SCALED}{within}")
    same = changed.replace("constexpr(3)", "constexpr(2)")
    assert "ops" in answered(recorder, f"SCALE = tl.constexpr(2)\n{SCALED}{same}")


def test_a_global_of_what_the_kernel_calls(recorder: RecordingProcess) -> None:
    helper = "@triton.jit\ndef scaled(x):\n    return x * SCALE\n"
    kernel = COPY.replace("tl.load(x)", "scaled(tl.load(x))")
    changed = CALLED.replace(
        "    out =", "    global SCALE\n    SCALE = tl.constexpr(3)\n    out ="
    )
    said = detail(recorder, f"SCALE = tl.constexpr(2)\n{helper}{kernel}{changed}")
    assert "'SCALE'" in said


def test_a_source_that_was_changed(recorder: RecordingProcess) -> None:
    changed = "kernel._unsafe_update_src(kernel.src.replace('load(x)', 'load(x) * 2'))\n"
    answer = answered(recorder, COPY + changed + CALLED)
    assert "changes the source of kernel" in answer["not_recordable"]["detail"]


def test_a_kernel_that_only_a_function_has(recorder: RecordingProcess) -> None:
    inside = COPY.replace("@", "    @").replace("def", "    def").replace("    tl", "        tl")
    made = f"def made():\n{inside}    return kernel\n"
    called = CALLED.replace("    out =", "    kernel = made()\n    out =")
    said = detail(recorder, made + called)
    assert "define it outside of functions" in said
    assert "ops" in answered(recorder, f"{made}kernel = made()\n{CALLED}")

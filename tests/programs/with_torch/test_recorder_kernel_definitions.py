"""A kernel is compiled from the posted text by its name; a kernel that differs is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.programs.with_torch.recording_process import RecordingProcess

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
    assert "give each kernel a unique name" in said


MAKE = "def make(SCALE):\n" + "".join(f"    {line}\n" for line in SCALED.splitlines())
MAKE += "    return kernel\n"
BOTH = (
    "def called(x):\n    out, other = torch.empty_like(x), torch.empty_like(x)\n"
    "    doubled[(1,)](x, out)\n    tripled[(1,)](x, other)\n    return out, other\n"
)


def _kernels(answer: Any) -> list[tuple[str, str, int]]:
    return [(one["file"], one["name"], one["line"]) for one in answer["kernels"].values()]


def test_two_kernels_that_one_function_makes_are_two(recorder: RecordingProcess) -> None:
    answer = answered(recorder, f"{MAKE}doubled, tripled = make(2), make(3)\n{BOTH}")

    assert _kernels(answer) == [("user.py", "doubled", 6), ("user.py", "tripled", 6)]
    assert [op["kernel"] for op in answer["ops"] if "kernel" in op][:2] == ["k0", "k1"]


def test_kernels_that_a_function_of_another_file_makes(recorder: RecordingProcess) -> None:
    source = f"from makers import make\ndoubled, tripled = make(2), make(3)\n{BOTH}"
    answer = recorder.record(HEAD + source + INPUTS, ENTRY, files={"makers.py": HEAD + MAKE})

    assert _kernels(answer) == [("user.py", "doubled", 5), ("user.py", "tripled", 1)]


def test_a_kernel_that_is_made_where_it_is_launched(recorder: RecordingProcess) -> None:
    source = f"{MAKE}doubled = make(2)\n"
    called = CALLED.replace("    out =", "    kernel = make(3)\n    out =")

    said = detail(recorder, source + called)

    assert "which the function 'make' made" in said
    assert "`kernel_1 = make(...)` at the top level" in said


def test_a_kernel_that_only_a_list_holds(recorder: RecordingProcess) -> None:
    source = f"{MAKE}KERNELS = [make(2), make(3)]\n"
    called = CALLED.replace("    out =", "    kernel = KERNELS[1]\n    out =")

    assert "`kernel_1 = make(...)` at the top level" in detail(recorder, source + called)


def test_a_variable_that_is_another_kernel_later(recorder: RecordingProcess) -> None:
    source = f"{MAKE}kernel = make(2)\n"
    called = CALLED.replace(LAUNCH_LINE, f"    global kernel\n    kernel = make(3)\n{LAUNCH_LINE}")

    assert "give each kernel a unique name" in detail(recorder, source + called)


def test_what_a_function_holds_was_changed_after_loading(recorder: RecordingProcess) -> None:
    setter = "    def change(value):\n        nonlocal SCALE\n        SCALE = value\n"
    made = MAKE.replace("    return kernel\n", f"{setter}    return kernel, change\n")
    source = f"{made}kernel, change = make(2)\n"
    changed = CALLED.replace("    out =", "    change(3)\n    out =")

    said = detail(recorder, source + changed)

    assert "the captured variable 'SCALE'" in said
    assert "ops" in answered(recorder, source + CALLED)


def test_a_global_that_was_changed_after_loading(recorder: RecordingProcess) -> None:
    changed = CALLED.replace(
        "    out =", "    global SCALE\n    SCALE = tl.constexpr(3)\n    out ="
    )
    said = detail(recorder, f"SCALE = tl.constexpr(2)\n{SCALED}{changed}")
    assert "'SCALE' after loading, but the kernel 'kernel' reads it" in said
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

"""A typing error gets a slug, a line, an excerpt that points at it, and a useful hint."""

from __future__ import annotations

import re

import pytest

from tests.cases import slow_except
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import Kernel, all_in, compile_kernel

BROKEN = all_in("broken")
QUICK = [*BROKEN[::3], *{kernel.expected["slug"]: kernel for kernel in BROKEN}.values()]
"""Every third, and one of each slug."""


@pytest.mark.parametrize("kernel", slow_except(QUICK, BROKEN), ids=lambda kernel: kernel.path.stem)
def test_a_broken_kernel_is_explained(children: Children, kernel: Kernel) -> None:
    expected = kernel.expected

    failure = compile_kernel(children, kernel).failure

    assert failure is not None
    assert failure["slug"] == expected["slug"]
    error = failure["diagnostics"][0]
    assert error["severity"] == "error"
    assert str(error["line"]).lower() == expected["line"]
    if error["line"] is not None:
        assert error["file"] == "user.py"
        shown, carets = error["excerpt"].split("\n")
        assert shown == kernel.text.split("\n")[error["line"] - 1]
        assert carets.strip("^ ") == ""
    if expected["hint"].lower() != "none":
        assert expected["hint"].lower() in str(error["hint"]).lower()
    assert kernel.says in error["message"]
    said = (f"{item['message']} {item['hint']}" for item in failure["diagnostics"])
    assert not [words for words in said if re.search(r"0x[0-9a-f]{6}|_semantic|_builder", words)]


def test_an_error_in_a_helper_names_the_calls_that_led_to_it(children: Children) -> None:
    (kernel,) = (k for k in all_in("broken") if k.path.stem == "error_in_helper")

    failure = compile_kernel(children, kernel).failure

    assert failure is not None
    notes = [d for d in failure["diagnostics"] if d["severity"] == "note"]
    assert [note["message"] for note in notes] == [
        "called from outer at user.py:12",
        "called from kernel at user.py:17",
    ]


def test_an_llvm_abort_still_shows_the_stages_before_it(children: Children) -> None:
    (kernel,) = (k for k in all_in("broken") if k.path.stem == "llvm_abort")

    compiled = compile_kernel(children, kernel)

    assert list(compiled.stages) == ["source", "ttir", "ttgir", "llir"]


def test_a_failing_pass_does_not_dump_the_module(children: Children) -> None:
    (kernel,) = (k for k in all_in("broken") if k.path.stem == "pass_fails")

    failure = compile_kernel(children, kernel).failure

    assert failure is not None
    assert "tt.func" not in str(failure)
    assert failure["diagnostics"][1]["message"] == "while running the pass ConvertTritonToTritonGPU"

"""The search for the operation behind a failure, with stages that fail where a test wants."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from compiler.back import failing_operation
from compiler.back.failing_operation import FailedStage
from compiler.diagnostic import Diagnostic

SOURCE = "\n".join(f"line_{number}()" for number in range(1, 10))
MODULE = """\
module {
  tt.func public @kernel(%p: !tt.ptr<f32>) {
    %a = first : i32 loc("/kernel/user.py":2:1)
    %b = second {tt.contiguity = dense<8> : tensor<1xi32>} : i32 loc("/kernel/user.py":3:1)
    %c = scf.for %i = %a to %b step %a iter_args(%d = %a, %e = %b) -> (i32, i32)  : i32 {
      %f = third %d : i32 loc("/kernel/user.py":5:1)
      %g = fourth %e : i32 loc("/kernel/user.py":6:1)
      scf.yield %f, %g : i32, i32 loc("/kernel/user.py":4:1)
    } {tt.num_stages = 3 : i32} loc("/kernel/user.py":4:1)
    fifth %c : i32 loc("/kernel/user.py":7:1)
    tt.return loc("/kernel/user.py":1:1)
  } loc("/kernel/user.py":1:1)
}
"""
COMPLAINT = "fake: fake.cpp:1: int fake(): Assertion `is_right' failed.\n"


def search(fails: Callable[[str], bool], module: str = MODULE) -> list[Diagnostic]:
    """Search with a stage that prints the same words for each module that `fails`."""

    def lower(text: str, changes: Mapping[str, Any]) -> None:
        del changes
        if fails(text):
            os.write(2, COMPLAINT.encode())
            raise RuntimeError

    sources = {"/kernel/user.py": SOURCE}
    return failing_operation.located(FailedStage("ttgir", module, {}, sources, str, lower))


def test_the_operation_that_a_stage_fails_at_is_found() -> None:
    (found,) = search(lambda text: "second" in text)

    assert (found.line, found.message) == (3, "Triton's own check failed: is_right (fake.cpp:1)")
    assert found.excerpt is not None
    assert found.excerpt.startswith("line_3()")


def test_an_operation_inside_a_loop_is_found() -> None:
    (found,) = search(lambda text: "fourth" in text)

    assert found.line == 6


def test_a_loop_that_is_cut_yields_what_it_carries() -> None:
    (found,) = search(lambda text: "third" in text)

    assert found.line == 5


def test_a_promise_without_which_the_stage_passes_is_named() -> None:
    (found,) = search(lambda text: "tt.contiguity" in text)

    assert found.line == 3
    assert "compiles without tl.max_contiguous here" in str(found.hint)


def test_an_attribute_of_a_loop_without_which_the_stage_passes_is_named() -> None:
    (found,) = search(lambda text: "tt.num_stages" in text)

    assert found.line == 4
    assert "compiles without num_stages of this loop" in str(found.hint)


def test_nothing_is_found_where_the_stage_passes_again() -> None:
    assert search(lambda _: False) == []


def test_a_complaint_that_names_a_line_is_not_searched_for() -> None:
    def lower(text: str, changes: Mapping[str, Any]) -> None:
        del text, changes
        os.write(2, b'loc("/kernel/user.py":3:1): error: there\n')
        raise RuntimeError

    stage = FailedStage("ttgir", MODULE, {}, {}, str, lower)

    assert failing_operation.located(stage) == []


def test_a_kernel_that_returns_a_value_is_told_so_at_its_return() -> None:
    module = MODULE.replace("tt.return loc", "tt.return %c : i32 loc").replace(":1:1)", ":9:1)")

    (found,) = search(lambda _: True, module)

    assert (found.line, found.message) == (9, "the kernel returns a value")

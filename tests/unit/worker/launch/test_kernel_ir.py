"""Compile options that change how the CPU device runs a kernel."""

from typing import Any

import pytest

from worker.launch.kernel_ir import fuses, may_be_refused


class Job:
    """Fakes a compile job: only its options."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options


@pytest.mark.parametrize(
    ("options", "wanted"),
    [({"enable_fp_fusion": False}, False), ({"enable_fp_fusion": True}, True), ({}, True)],
)
def test_products_are_fused_unless_the_options_say_no(
    options: dict[str, Any], wanted: bool
) -> None:
    assert fuses(Job(options)) is wanted  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "is_refused"),
    [
        ("%1 = tt.fp_to_fp %0 : tensor<4xf16> -> tensor<4xf8E4M3FN>", True),
        ("%1 = tt.fp_to_fp %0, rounding = rtz : tensor<4xf32> -> tensor<4xf16>", True),
        ("%1 = tt.fp_to_fp %0 : tensor<4xf16> -> tensor<4xf32>", False),
        ("%1 = arith.addf %0, %0 : tensor<4xf64>", False),
    ],
)
def test_conversions_that_some_targets_lack_are_found(line: str, is_refused: bool):
    assert may_be_refused(f"module {{\n{line}\n}}\n".encode()) is is_refused


def test_a_line_that_repeats_the_operation_is_searched_once():
    """A search that starts again at each repetition would take hours."""
    assert not may_be_refused(b'tt.print "' + b"tt.fp_to_fp " * 500_000 + b'"')

"""Compile options that change how the CPU device runs a kernel."""

from typing import Any

import pytest

from worker.launch.kernel_ir import fuses


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

"""Buffers that a call changes are compared with the reference's of the same names."""

from __future__ import annotations

import httpx
import pytest

from programs.program_request import EXAMPLE
from tests.programs.with_torch.evaluating import evaluate

BUFFER = """    def __init__(self):
        super().__init__()
        self.register_buffer("{name}", torch.zeros(4, 1000))

    def forward(self, x, y):
        {change}
"""
COUNTING = "self.total += x"


def counting(source: str, change: str = COUNTING, name: str = "total") -> str:
    """Return a program of the example with a buffer that its calls change."""
    return source.replace("    def forward(self, x, y):\n", BUFFER.format(name=name, change=change))


REFERENCE = counting(EXAMPLE["reference"]["source"])


def test_both_change_a_buffer_alike(programs: httpx.Client) -> None:
    program = evaluate(programs, counting(EXAMPLE["source"]), REFERENCE)
    assert program["verdict"] == "passed", program
    assert program["outputs"]["state[total]"]["comparison"]["matches"]


def test_both_change_a_buffer_but_to_something_else(programs: httpx.Client) -> None:
    program = evaluate(programs, counting(EXAMPLE["source"], "self.total += y"), REFERENCE)
    assert program["verdict"] == "mismatch", program
    assert not program["outputs"]["state[total]"]["comparison"]["matches"]


def test_only_the_reference_changes_a_buffer(programs: httpx.Client) -> None:
    program = evaluate(programs, counting(EXAMPLE["source"], "pass"), REFERENCE)
    assert program["verdict"] == "passed", program
    assert [flag["kind"] for flag in program["flags"]] == ["side_effect_missing"]
    assert "state[total]" in program["flags"][0]["message"]
    assert program["reward"]["serious"] == ["side_effect_missing"]


@pytest.mark.parametrize("name", ["scratch", "total"])
def test_only_the_program_changes_a_buffer(programs: httpx.Client, name: str) -> None:
    source = counting(EXAMPLE["source"], f"self.{name} += x", name)
    idle = counting(EXAMPLE["reference"]["source"], "pass")
    verdict = "input_modified" if name == "total" else "passed"
    assert evaluate(programs, source, idle)["verdict"] == verdict

"""A trace limits the values that it keeps, whatever their size."""

from __future__ import annotations

import json

import numpy as np
import pytest

from compiler.lines.source_location import SourceLocation
from compiler.lines.step import Step
from launch.checks import steps as tracing
from launch.checks.addresses import AddressSpace
from launch.checks.steps import MAX_OF_ONE, Steps

SPOT = SourceLocation("/kernel/user.py", 3, 5)
PROGRAM = (0, 0, 0)
MANY = 10**9


@pytest.mark.parametrize(
    ("elements", "size_bytes"),
    [(5000, 200_000), pytest.param(tracing.MAX_ELEMENTS, 20_000_000, marks=pytest.mark.slow)],
)
def test_small_values_fill_it_up_too(
    monkeypatch: pytest.MonkeyPatch, elements: int, size_bytes: int
) -> None:
    monkeypatch.setattr(tracing, "MAX_ELEMENTS", elements)
    steps, step = Steps(MANY), Step(SPOT, "arith.addi", "n", "i32", ())

    for number in range(elements // 10):
        steps.add(step, np.array([number], np.int32), PROGRAM, AddressSpace([]), 0)

    assert steps.truncated
    assert len(json.dumps(steps.made)) < size_bytes


def test_a_value_that_is_lazily_large_is_not_made_large() -> None:
    steps, step = Steps(MANY), Step(SPOT, "tt.splat", "", "fp32", (1 << 20,))

    steps.add(step, np.full((1, 1), 0.5, np.float32), PROGRAM, AddressSpace([]), 0)

    [made] = steps.made
    assert made["values"] == [0.5] * MAX_OF_ONE
    assert made["shape"] == [1 << 20]
    assert made["truncated"]


def test_a_pointer_to_no_argument_has_no_place() -> None:
    steps, step = Steps(MANY), Step(SPOT, "tt.int_to_ptr", "p", "*fp32", ())

    steps.add(step, np.array([64]), PROGRAM, AddressSpace([]), 0)

    assert steps.made[0]["values"] == [None]

"""Launch orders reach their task unchanged; malformed ones are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compiler.messages.orders import Order
from compiler.messages.wire import header_of, task_of
from compiler.target import Target
from launch.messages import (
    CompareOrder,
    OutputOrder,
    ReferenceOrder,
    RunOrder,
    Tolerance,
    TraceOrder,
)

RUN = RunOrder(
    ir=[0, 9],
    stage="source",
    target=Target("cuda", 90, 32),
    files=["user.py"],
    allocations=[{"name": "x_ptr", "init": None}],
    arguments={"n": {"kind": "scalar", "value": {"int": "7"}, "dtype": "i32"}},
    parameters=["x_ptr", "n"],
    grid=[2, 1, 1],
    checks=["racecheck"],
    trace=TraceOrder(programs=[[0, 0, 0]], max_accesses=5),
)
REFERENCE = ReferenceOrder(source=[0, 9], allocations=[], arguments={})
OUTPUT = OutputOrder(
    dtype="fp16", shape=[2, 3], returned="tensor", actual=[0, 12], expected=[12, 12],
    unwritten=[24, 1], tolerance=Tolerance(rtol=1e-3, equal_nan=True),
)  # fmt: skip
COMPARE = CompareOrder(outputs={"z": OUTPUT, "y": OutputOrder(dtype="i8", shape=[], actual=[0, 1])})


def received(order: Order, **more: Any) -> list[Order]:
    """Return what the task receives of an order that was framed and read."""
    found: list[Order] = []

    def run(taken: Order, body: bytes, send: object) -> None:
        found.append(taken)

    name, task = task_of(type(order), run)
    header = json.loads(json.dumps(header_of(order)))
    assert header.pop("task") == name
    task(header | more, b"", lambda *_: None)
    return found


@pytest.mark.parametrize("order", [RUN, REFERENCE, COMPARE], ids=lambda order: order.task)
def test_an_order_arrives_as_it_was_sent(order: Order) -> None:
    assert received(order) == [order]


def test_an_unknown_member_of_an_output_is_named() -> None:
    outputs = {"z": {"dtype": "fp16", "shape": [], "actual": [0, 2], "return": "tensor"}}

    with pytest.raises(ValueError, match=r"not OutputOrder: .*'return'"):
        received(COMPARE, outputs=outputs)

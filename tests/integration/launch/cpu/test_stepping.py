"""Stepping through a kernel: every value of the user's lines, in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from launch.checks.checked_memory import Trace
from launch.checks.kernel_run import RunOptions
from launch.checks.steps import Steps
from launch.cpu.argument_arena import OrderedMemory
from launch.cpu.grid_run import run_grid
from launch.cpu.translation import translated
from launch.messages import RunOrder, TraceOrder
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import Kernel, compile_kernel
from tests.integration.launch.cpu.forms import TARGET

SOURCE = """import triton
import triton.language as tl

@triton.jit
def half(v):
    small = v < 0
    if small:
        return v * 0.25
    return v * 0.5

@triton.jit
def kernel(x_ptr, y_ptr, n, B: tl.constexpr):
    pid = tl.program_id(0)
    places = pid * B + tl.arange(0, B)
    x = tl.load(x_ptr + places, mask=places < n, other=-1)
    total = tl.sum(x)
    for i in range(0, pid):
        total = half(total)
    tl.store(y_ptr + places, x + total)
"""
SIGNATURE = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}
B = 4


def traced(children: Children, source: str = SOURCE, **trace: Any) -> tuple[Trace, Any]:
    """Return the trace of three programs of `kernel`, and its output."""
    request = {"kernel": "kernel", "signature": SIGNATURE, "constexprs": {"B": B}}
    made = compile_kernel(children, Kernel(Path("user.py"), source, request), stop_after="ttir")
    assert made.failure is None, made.failure
    ir = made.stages["source"]

    def buffer(number: int, *, output: bool) -> dict[str, Any]:
        return {
            "kind": "buffer", "allocation": number, "shape": [3 * B], "strides": [1], "offset": 0,
            "dtype": "fp32", "output": output,
        }  # fmt: skip

    common = {"dtype": "fp32", "elements": 3 * B, "align_bytes": 16, "body": None}
    order = RunOrder(
        ir=(0, len(ir)), stage="source", target=TARGET, files=["user.py"],
        allocations=[
            {**common, "name": "x_ptr", "init": {"kind": "arange", "start": 0, "step": 1},
             "output": False},
            {**common, "name": "y_ptr", "init": None, "output": True},
        ],
        arguments={
            "x_ptr": buffer(0, output=False), "y_ptr": buffer(1, output=True),
            "n": {"kind": "scalar", "value": 10, "dtype": "i32"},
        },
        parameters=["x_ptr", "y_ptr", "n"], grid=(3, 1, 1),
        trace=TraceOrder(**trace, values=True),
    )  # fmt: skip
    assert order.trace is not None
    kept = Trace(order.trace.programs, order.trace.max_accesses, Steps(order.trace.max_accesses))
    memory = OrderedMemory(order, ir)
    ran = run_grid(translated(order, ir.decode()), order, memory, RunOptions(trace=kept))
    assert ran.stopped is None
    return kept, ran.allocations[1].memory


def steps_of(kept: Trace) -> list[dict[str, Any]]:
    assert kept.steps is not None
    return kept.steps.made


def line_of(words: str) -> int:
    return 1 + [line.strip() for line in SOURCE.splitlines()].index(words)


def test_named_values_of_one_program_in_order(children: Children) -> None:
    kept, _ = traced(children, programs=[[2, 0, 0]])

    named = [(step["name"], step["values"]) for step in steps_of(kept) if step["name"]]
    assert named[:4] == [
        ("pid", [2]),
        ("places", [8, 9, 10, 11]),
        ("x", [8.0, 9.0, -1.0, -1.0]),
        ("total", [15.0]),
    ]
    assert [value for name, value in named if name == "small"] == [[False], [False]]
    assert [value for name, value in named if name == "i"] == [[0], [1]]
    assert {tuple(step["program"]) for step in steps_of(kept)} == {(2, 0, 0)}


def test_a_loops_number_has_the_users_name(children: Children) -> None:
    loop = "i = 7\n    for q in range(0, pid):\n        total += i\n"
    source = SOURCE.replace("for i in range(0, pid):\n", loop + "    for i in range(0, pid):\n")

    kept, _ = traced(children, source, programs=[[2, 0, 0]])

    rounds = [step for step in steps_of(kept) if step["op"] == "scf.for" and step["dtype"] == "i32"]
    assert [step["name"] for step in rounds] == ["q", "q", "i", "i"]


def test_a_loops_number_that_posted_ir_does_not_name_has_none() -> None:
    ir = """module { tt.func public @kernel(%p: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %arg1 = %c0 to %n step %c1 : i32 { tt.store %p, %arg1 : !tt.ptr<i32> }
    tt.return } }"""
    order = RunOrder(
        ir=(0, len(ir)), stage="ttir", target=TARGET, files=["own.ttir"], allocations=[],
        arguments={},
        parameters=["p", "n"], grid=(1, 1, 1), trace=TraceOrder(values=True),
    )  # fmt: skip

    [number, *_] = translated(order, ir).steps

    assert (number.operation, number.name) == ("scf.for", "")


def test_a_step_says_where_and_what_it_is(children: Children) -> None:
    kept, _ = traced(children, programs=[[0, 0, 0]])

    [load] = [step for step in steps_of(kept) if step["op"] == "tt.load"]
    assert load["line"] == line_of("x = tl.load(x_ptr + places, mask=places < n, other=-1)")
    assert (load["file"], load["column"]) == ("user.py", 9)
    assert (load["dtype"], load["shape"], load["truncated"]) == ("fp32", [B], False)
    assert load["accesses"] == 1
    [store] = [step for step in steps_of(kept) if step["op"] == "tt.store"]
    assert store["values"] == [6.0, 7.0, 8.0, 9.0]
    pointers = [step["values"] for step in steps_of(kept) if step["op"] == "tt.addptr"]
    assert pointers[0][3] == {"argument": "x_ptr", "index": [3]}


def test_what_is_stepped_through_gives_what_runs_at_once(children: Children) -> None:
    kept, output = traced(children)

    x = np.where(np.arange(3 * B) < 10, np.arange(3 * B), -1).reshape(3, B)
    totals = x.sum(1) * [1, 0.5, 0.25]
    np.testing.assert_array_equal(output, (x + totals[:, None]).reshape(-1))
    assert [step["step"] for step in steps_of(kept)] == list(range(len(steps_of(kept))))


def test_no_more_steps_are_kept_than_asked_for(children: Children) -> None:
    kept, _ = traced(children, max_accesses=5)

    assert len(steps_of(kept)) == 5
    assert kept.steps is not None
    assert kept.steps.truncated
    assert b'"steps_truncated": true' in kept.to_json()


def test_of_a_large_value_the_first_elements_are_kept(children: Children) -> None:
    source = SOURCE.replace(
        "tl.sum(x)\n",
        "tl.sum(x)\n    wide = tl.arange(0, 8192) * 2\n    total += tl.sum(wide) * 0\n",
    )

    kept, _ = traced(children, source, programs=[[0, 0, 0]])

    [wide] = [step for step in steps_of(kept) if step["name"] == "wide"]
    assert wide["shape"] == [8192]
    assert wide["values"] == list(range(0, 8192, 2))
    assert wide["truncated"]


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_what_json_has_no_number_for_has_a_name(children: Children, value: str) -> None:
    source = SOURCE.replace("tl.sum(x)", f"tl.sum(x) * 0 + float('{value}')")

    kept, _ = traced(children, source, programs=[[0, 0, 0]])

    [total] = [
        step for step in steps_of(kept) if step["name"] == "total" and step["op"] != "scf.for"
    ]
    assert total["values"] == [{"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[value]]

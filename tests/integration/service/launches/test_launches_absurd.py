"""Absurd launches end with a named error, within their deadline."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import output
from tests.integration.service.launches.conftest import Launch
from tests.integration.service.launches.test_launches_compiled import ir_launch

ADDS = "@triton.jit\ndef kernel(out_ptr):\n    tl.atomic_add(out_ptr, 1)\n"
ENDLESS = """
@triton.jit
def kernel(out_ptr, n):
    i = n
    while i > 0:
        i = i + 1 - tl.load(out_ptr)
    tl.store(out_ptr, i)
"""


def looping(n: int, **changes: Any) -> dict[str, Any]:
    """Return a launch that never ends if `n` > 0; -1 and 5 share a compilation, like 0 and 16."""
    one = output(1, dtype="i32", init={"kind": "ones"})
    return bodies.written(ENDLESS, {"out_ptr": one, "n": n}, **changes)


def counting(instances: int, **changes: Any) -> dict[str, Any]:
    """Return a launch of this many program instances, which compiles once."""
    counter = output(1, dtype="i32", init={"kind": "zeros"})
    return bodies.written(ADDS, {"out_ptr": counter}, grid=[instances], **changes)


def test_a_huge_grid_ends_with_its_timeout(launch: Launch) -> None:
    launch(counting(1))

    answer = launch(counting(2**31 - 1, timeout_s=1))

    assert (answer["state"], answer["verdict"]) == ("completed", "timeout")


def test_a_huge_grid_of_cases_ends_with_the_deadline(launch: Launch) -> None:
    launch(counting(1))

    answer = launch(counting(2**31 - 1, timeout_s=30, deadline_s=1) | {"cases": [{}, {}]})

    slugs = [case["problem"]["slug"] for case in answer["cases"]]
    assert slugs == ["deadline_exceeded", "deadline_exceeded"]


def test_a_loop_without_end_ends_with_its_timeout(launch: Launch) -> None:
    launch(looping(-1))

    assert launch(looping(5, timeout_s=1))["verdict"] == "timeout"


@pytest.mark.parametrize("decorator", ["", "@triton.heuristics({'N': lambda args: N})\n"])
def test_a_module_without_end_ends_with_the_launch_s_timeout(
    launch: Launch, decorator: str
) -> None:
    code = "def forever():\n    while True:\n        pass\n\n\nN = tl.constexpr(forever())\n\n\n"
    code += f"{decorator}@triton.jit\ndef kernel(out_ptr):\n    tl.store(out_ptr, N)\n"

    answer = launch(bodies.written(code, {"out_ptr": output(1, dtype="i32")}, timeout_s=1))

    assert (answer["state"], answer["problem"]["slug"]) == ("failed", "compile_timeout")
    assert "timeout_s = 1 s" in answer["problem"]["detail"]


def test_a_tensor_beyond_the_limit_does_not_compile(launch: Launch) -> None:
    code = "@triton.jit\ndef kernel(out_ptr):\n    lanes = tl.arange(0, 1 << 21)\n"
    code += "    tl.store(out_ptr + lanes, lanes)\n"

    answer = launch(bodies.written(code, {"out_ptr": output(1 << 21, dtype="i32")}))

    assert (answer["state"], answer["problem"]["slug"]) == ("failed", "compile_error")
    assert "1048576" in answer["problem"]["detail"]


def test_posted_ir_with_a_tensor_beyond_the_limit_is_refused(launch: Launch) -> None:
    ranges = "%r = tt.make_range {start = 0 : i32, end = 4194304 : i32} : tensor<4194304xi32>"
    text = f"module {{ tt.func public @k(%a: !tt.ptr<i32>) {{ {ranges} tt.return }} }}"

    answer = launch(ir_launch(text, arguments=[output(1, dtype="i32")], grid=[1], reference=None))

    assert (answer["state"], answer["problem"]["slug"]) == ("failed", "out_of_resources")


def test_ir_that_ttir_does_not_allow_has_failed_at_its_line(launch: Launch) -> None:
    text = "module {\n  tt.func public @k(%a: !tt.ptr<i32>) {\n"
    text += "    %b = tt.load %a, %a : !tt.ptr<i32>\n    tt.return\n  }\n}\n"

    answer = launch(ir_launch(text, arguments=[output(1, dtype="i32")], grid=[1], reference=None))

    assert answer["state"] == "failed"
    assert answer["problem"]["slug"] in {"syntax_error", "compile_error"}
    assert "user.ttir:3" in answer["problem"]["detail"]


def test_a_deep_nest_has_an_answer(launch: Launch) -> None:
    nest = [" " * (depth + 4) + f"if n > {depth}:" for depth in range(90)]
    store = " " * 94 + "tl.store(out_ptr, n)"
    code = "\n".join(["@triton.jit", "def kernel(out_ptr, n):", *nest, store, ""])

    answer = launch(bodies.written(code, {"out_ptr": output(1, dtype="i32"), "n": 200}))

    assert answer["state"] in {"completed", "failed"}
    assert answer["problem"] is None or answer["problem"]["slug"] in {"needs_gpu", "compile_error"}

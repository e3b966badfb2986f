"""Each verdict that a correct CPU device can give has a kernel that earns it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import arange, output
from tests.integration.service.launches.conftest import Launch

IDENTITY = "def reference(x_ptr, **_):\n    return x_ptr\n"
X = arange(8)


def faulty(kernel: str, arguments: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return bodies.launch(bodies.source("faulty"), kernel, arguments, **changes)


def kernel(code: str, **changes: Any) -> dict[str, Any]:
    text = f"@triton.jit\ndef kernel(x_ptr, out_ptr):\n    lanes = tl.arange(0, 8)\n    {code}\n"
    return bodies.written(text, {"x_ptr": X, "out_ptr": output(8)}, **changes)


EARNED: dict[str, dict[str, Any]] = {
    "invalid_reference": kernel(
        "tl.store(out_ptr + lanes, 1.0)", reference="def reference(**_):\n    return 1 / 0\n"
    ),
    "illegal_access": kernel("tl.store(out_ptr + (1 << 41), 1.0)"),
    "out_of_bounds": faulty(
        "writes_past_the_end",
        {"x_ptr": arange(100), "out_ptr": output(100), "n": 100},
        constexprs={"BLOCK": 32},
        grid=[4],
    ),
    "misaligned_access": faulty("reads_between", {"x_ptr": X, "out_ptr": output(1)}),
    "assertion_failed": faulty("asserts", {"x_ptr": X, "out_ptr": output(8)}, constexprs={"BLOCK": 8}),  # noqa: E501
    "timeout": faulty(
        "never_ends",
        {"x_ptr": {**X, "init": {"kind": "zeros"}}, "out_ptr": output(1)},
        timeout_s=2,
    ),
    "race": bodies.launch(
        bodies.source("racing"), "writes_its_number", {"out_ptr": output(4, dtype="i32")},
        grid=[2], checks=["racecheck"],
    ),
    "uninitialized": kernel("tl.store(out_ptr + lanes, tl.load(out_ptr + lanes))", checks=["initcheck"]),  # noqa: E501
    "mismatch": kernel("tl.store(out_ptr + lanes, 0.0)", reference=IDENTITY),
    "input_modified": faulty(
        "changes_its_input",
        {"x_ptr": X, "out_ptr": output(8)},
        constexprs={"BLOCK": 8},
        reference="def reference(x_ptr, **_):\n    return x_ptr\n",
    ),
    "nondeterministic": bodies.written(
        "@triton.jit\ndef kernel(out_ptr):\n    tl.store(out_ptr, tl.program_id(0))\n",
        {"out_ptr": output(1, dtype="i32")},
        grid=[2],
        checks=["determinism"],
    ),
    "passed": kernel("tl.store(out_ptr + lanes, tl.load(x_ptr + lanes))", reference=IDENTITY),
    "not_checked": kernel("tl.store(out_ptr + lanes, 1.0)"),
}  # fmt: skip


@pytest.mark.parametrize("verdict", EARNED)
def test_the_kernel_earns_its_verdict(launch: Launch, verdict: str) -> None:
    answer = launch(EARNED[verdict])

    assert (answer["state"], answer["verdict"]) == ("completed", verdict), answer
    assert answer["counts"] == {verdict: 1}


def test_an_access_out_of_bounds_is_found_with_line_index_and_program(launch: Launch) -> None:
    [found] = launch(EARNED["out_of_bounds"])["findings"]

    line = bodies.source("faulty").split("\n").index("    tl.store(") + 1
    assert found["kind"] == "out_of_bounds"
    assert (found["access"], found["argument"], found["index"]) == ("write", "out_ptr", [100])
    assert (found["file"], found["program"]) == ("user.py", [3, 0, 0])
    assert line <= found["line"] <= line + 3
    assert "mask=offsets < n." in found["message"]


def test_a_changed_input_is_found_with_its_first_element(launch: Launch) -> None:
    [found] = launch(EARNED["input_modified"])["findings"]

    assert found["kind"] == "input_modified"
    assert (found["argument"], found["index"]) == ("x_ptr", [5])
    assert "Mark it as an output if that is intended." in found["message"]
    assert found["message"].endswith("in Python `tritonc.array(x, output=True)`.")


def test_a_launch_without_outputs_is_what_a_reference_cannot_check(launch: Launch) -> None:
    text = "@triton.jit\ndef kernel(x_ptr):\n    tl.store(x_ptr, 9.0)\n"

    answer = launch(bodies.written(text, {"x_ptr": X}, reference=IDENTITY))

    assert answer["verdict"] == "invalid_reference"
    [modified, failed] = answer["findings"]
    assert (modified["kind"], modified["argument"]) == ("input_modified", "x_ptr")
    assert failed["message"].startswith("Nothing can be compared with the reference: the launch ")
    assert failed["line"] is None


def test_outputs_are_answered_even_where_something_went_wrong(launch: Launch) -> None:
    answer = launch(EARNED["out_of_bounds"])

    summary = answer["outputs"]["out_ptr"]["summary"]
    assert summary["unwritten"] == 4
    assert summary["max"] == 95


def test_unwritten_elements_are_counted(launch: Launch) -> None:
    answer = launch(kernel("tl.store(out_ptr + lanes, 1.0, lanes < 5)", reference=IDENTITY))

    output_ = answer["outputs"]["out_ptr"]
    assert output_["summary"]["unwritten"] == 3
    assert output_["comparison"]["nonfinite_mismatched"] == 3


def test_running_twice_says_whether_bits_are_equal(launch: Launch) -> None:
    right = kernel("tl.store(out_ptr + lanes, tl.load(x_ptr + lanes))", checks=["determinism"])

    assert launch(right)["deterministic"] is True
    assert launch(EARNED["nondeterministic"])["deterministic"] is False
    assert launch(EARNED["passed"])["deterministic"] is None


def test_the_first_of_several_that_apply_is_the_verdict(launch: Launch) -> None:
    both = faulty(
        "changes_its_input", {"x_ptr": X, "out_ptr": output(8)}, constexprs={"BLOCK": 8},
        reference="def reference(x_ptr, **_):\n    return x_ptr + 1\n",
    )  # fmt: skip

    answer = launch(both)

    assert answer["verdict"] == "mismatch"
    assert [found["kind"] for found in answer["findings"]] == ["input_modified"]


def test_after_a_timeout_the_next_launch_is_fine(launch: Launch) -> None:
    late = launch(EARNED["timeout"])

    assert "timeout_s = 2 s" in late["findings"][0]["message"]
    assert launch(EARNED["passed"])["verdict"] == "passed"


def test_a_kernel_that_cannot_run_fails_with_its_line(launch: Launch) -> None:
    arguments = {"x_ptr": X, "out_ptr": output(8)}

    answer = launch(faulty("misspells", arguments, constexprs={"BLOCK": 8}))

    line = bodies.source("faulty").split("\n").index("    x = tl.load(x_ptr + offset)") + 1
    assert (answer["state"], answer["verdict"]) == ("failed", None)
    assert answer["problem"]["slug"] == "compile_error"
    assert answer["problem"]["detail"].startswith(f"user.py:{line}: ")


def test_what_the_cpu_device_cannot_do_needs_a_gpu(launch: Launch) -> None:
    arguments = {"x_ptr": arange(1), "out_ptr": output(1)}

    answer = launch(bodies.launch(bodies.source("operations"), "writes_ptx", arguments))

    line = (
        bodies.source("operations")
        .split("\n")
        .index(
            '    y = tl.inline_asm_elementwise("neg.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)'
        )
        + 1
    )
    assert (answer["state"], answer["problem"]["slug"]) == ("failed", "needs_gpu")
    assert answer["problem"]["detail"].startswith(f"user.py:{line}: inline assembly")
    assert "it needs a GPU. Launch it on a device with a GPU" in answer["problem"]["detail"]


def test_a_kernel_that_the_source_lacks_is_named_with_those_it_has(launch: Launch) -> None:
    answer = launch(faulty("reads", {"x_ptr": X}))

    assert answer["problem"]["slug"] == "unknown_kernel"
    assert "reads_wild" in answer["problem"]["detail"]

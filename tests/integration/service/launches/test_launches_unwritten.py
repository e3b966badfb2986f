"""Unwritten elements never match, and an output with nothing compared does not pass."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import arange, output
from tests.integration.service.launches.conftest import Launch

LOOSE = {"rtol": 1e300, "atol": 1e300, "max_mismatched_ratio": 1}


def storing(what: str | None, out: dict[str, Any], expected: str, **tolerance: Any) -> Any:
    """Return a kernel that stores `what` to all 4 elements of an output, or nothing."""
    store = "pass" if what is None else f"tl.store(out_ptr + tl.arange(0, 4), {what})"
    reference = f"import numpy\n\ndef reference(**_):\n    return {expected}\n"
    return bodies.written(
        f"@triton.jit\ndef kernel(out_ptr):\n    {store}\n",
        {"out_ptr": out},
        reference={"source": reference, **tolerance},
    )


def full(value: str, dtype: str = "float64") -> str:
    return f"numpy.full(4, {value}, numpy.{dtype})"


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp8e5", "fp8e4b8"])
def test_nothing_written_is_no_nan_that_was_expected(launch: Launch, dtype: str) -> None:
    nan = full("numpy.nan")

    body = storing(None, output(4, dtype=dtype), nan, equal_nan=True)
    if dtype == "fp8e4b8":  # which is AMD's
        body["compilation"]["target"] = "hip:gfx942"

    answer = launch(body)

    assert answer["verdict"] == "mismatch"
    assert answer["outputs"]["out_ptr"]["summary"]["unwritten"] == 4
    comparison = answer["outputs"]["out_ptr"]["comparison"]
    assert (comparison["mismatched"], comparison["unwritten"]) == (4, 4)


POISON = {"i8": "-85", "u8": "171", "i32": "-1414812757", "i64": "-6076574518398440533"}


@pytest.mark.parametrize("dtype", POISON)
def test_nothing_written_is_no_integer_that_was_expected(launch: Launch, dtype: str) -> None:
    same = full(POISON[dtype], "int64")

    nothing = launch(storing(None, output(4, dtype=dtype), same, **LOOSE))
    written = launch(storing(POISON[dtype], output(4, dtype=dtype), same))

    assert nothing["verdict"] == "mismatch"
    assert written["verdict"] == "passed"
    assert written["outputs"]["out_ptr"]["summary"]["unwritten"] == 0


@pytest.mark.parametrize("dtype", ["i1", "i32", "fp16"])
def test_no_tolerance_lets_an_unwritten_element_pass(launch: Launch, dtype: str) -> None:
    kind = "bool" if dtype == "i1" else "int64"

    answer = launch(storing(None, output(4, dtype=dtype), full("1", kind), **LOOSE))

    assert answer["verdict"] == "mismatch"


def test_the_first_unwritten_element_is_named(launch: Launch) -> None:
    code = "@triton.jit\ndef kernel(out_ptr):\n    tl.store(out_ptr + tl.arange(0, 2), 7)\n"
    reference = "import numpy\n\ndef reference(**_):\n    return numpy.array([7, 7, -85, 7])\n"
    body = bodies.written(code, {"out_ptr": output(4, dtype="i8")}, reference=reference)

    comparison = launch(body)["outputs"]["out_ptr"]["comparison"]

    assert comparison["first_mismatch"]["index"] == [2]
    assert "2 unwritten elements" in comparison["note"]


def test_a_not_a_number_that_was_loaded_and_stored_was_written(launch: Launch) -> None:
    ones = {"shape": [4], "dtype": "fp32", "init": {"kind": "zeros"}}
    code = """
@triton.jit
def kernel(x_ptr, out_ptr):
    lanes = tl.arange(0, 4)
    bits = tl.load(x_ptr + lanes).to(tl.int32) - 1
    tl.store(out_ptr + lanes, bits.to(tl.float32, bitcast=True))
"""
    reference = "import numpy\n\ndef reference(**_):\n    return numpy.full(4, numpy.nan)\n"
    body = bodies.written(
        code,
        {"x_ptr": ones, "out_ptr": output(4)},
        reference={"source": reference, "equal_nan": True},
    )

    assert launch(body)["verdict"] == "passed"


def test_an_output_without_elements_has_not_passed(launch: Launch) -> None:
    answer = launch(bodies.vector_add(0, grid=[1]))

    assert answer["verdict"] == "not_checked"
    assert answer["outputs"]["output_ptr"]["comparison"]["compared"] == 0
    [found] = answer["findings"]
    assert found["kind"] == "not_checked"
    assert "output_ptr has no elements" in found["message"]


def test_a_case_without_elements_is_counted_as_not_checked(launch: Launch) -> None:
    none = {name: {"shape": [0]} for name in ("x_ptr", "y_ptr", "output_ptr")}
    empty = {"arguments": {**none, "n_elements": 0}, "grid": [1]}

    answer = launch(bodies.vector_add(cases=[{}, empty]))

    assert answer["counts"] == {"passed": 1, "not_checked": 1}


TWO = """
@triton.jit
def kernel(a_ptr, b_ptr):
    tl.store(a_ptr + tl.arange(0, 4), 1.0)
"""


def two_outputs(b: dict[str, Any], returned: str) -> dict[str, Any]:
    reference = f"import numpy\n\ndef reference(**_):\n    return {returned}\n"
    return bodies.written(TWO, {"a_ptr": output(4), "b_ptr": b}, reference=reference)


def test_an_output_without_elements_beside_one_that_matches_is_no_fault(launch: Launch) -> None:
    returned = "{'a_ptr': numpy.ones(4), 'b_ptr': numpy.ones(0)}"

    assert launch(two_outputs(output(0), returned))["verdict"] == "passed"


def test_a_reference_that_compares_nothing_checks_nothing(launch: Launch) -> None:
    answer = launch(two_outputs(output(4), "{'a_ptr': None, 'b_ptr': None}"))

    assert answer["verdict"] == "not_checked"
    assert "None for every output" in answer["findings"][0]["message"]


def test_a_launch_without_outputs_has_nothing_that_could_pass(launch: Launch) -> None:
    body = bodies.written(
        "@triton.jit\ndef kernel(x_ptr):\n    pass\n",
        {"x_ptr": arange(4)},
        reference="def reference(**_):\n    return {}\n",
    )

    answer = launch(body)

    assert answer["verdict"] == "not_checked"
    assert "no outputs" in answer["findings"][0]["message"]


IN_PLACE = {"x_ptr": {**arange(4), "output": True}}
NOTHING = "@triton.jit\ndef kernel(x_ptr):\n    pass\n"


def test_what_is_expected_to_stay_as_it_was_is_said_to_check_little(launch: Launch) -> None:
    same = "def reference(x_ptr):\n    return x_ptr\n"

    answer = launch(bodies.written(NOTHING, IN_PLACE, reference=same))

    comparison = answer["outputs"]["x_ptr"]["comparison"]
    assert (answer["verdict"], comparison["matches"]) == ("passed", True)
    assert "a kernel that does nothing would match too" in comparison["note"]


def test_an_unchanged_output_in_place_is_compared_as_it_is(launch: Launch) -> None:
    double = "def reference(x_ptr):\n    return 2 * x_ptr\n"

    answer = launch(bodies.written(NOTHING, IN_PLACE, reference=double))

    assert answer["verdict"] == "mismatch"
    assert answer["outputs"]["x_ptr"]["comparison"]["mismatched"] == 3  # 2 * 0 is 0


def half(post: Any, stored: int) -> str:
    """Return the key of a kernel that stores this many of 8 integers."""
    code = f"@triton.jit\ndef kernel(out_ptr):\n    tl.store(out_ptr + tl.arange(0, {stored}), 5)\n"
    request = {"source": bodies.HEADER + code, "signature": {"out_ptr": "*i32"}}
    answer = post(request | {"target": "cuda:90"}).json()
    assert answer["state"] == "succeeded", answer["problem"]
    key: str = answer["key"]
    return key


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict", "compared"),
    [(4, 4, "passed", 4), (2, 4, "mismatch", 4), (4, 2, "mismatch", 4)],
)
def test_a_reference_kernel_expects_nothing_of_what_neither_writes(
    launch: Launch, post: Any, ours: int, theirs: int, verdict: str, compared: int
) -> None:
    code = f"@triton.jit\ndef kernel(out_ptr):\n    tl.store(out_ptr + tl.arange(0, {ours}), 5)\n"
    reference = {"compilation_key": half(post, theirs)}
    body = bodies.written(code, {"out_ptr": output(8, dtype="i32")}, reference=reference)

    answer = launch(body)

    assert answer["verdict"] == verdict
    assert answer["outputs"]["out_ptr"]["comparison"]["compared"] == compared


def test_two_kernels_that_write_nothing_have_not_passed(launch: Launch, post: Any) -> None:
    code = "@triton.jit\ndef kernel(out_ptr):\n    pass\n"
    request = {"source": bodies.HEADER + code, "signature": {"out_ptr": "*i32"}}
    key = post(request | {"target": "cuda:90"}).json()["key"]
    reference = {"compilation_key": key, **LOOSE}
    body = bodies.written(code, {"out_ptr": output(8, dtype="i32")}, reference=reference)

    answer = launch(body)

    assert answer["verdict"] == "not_checked"
    assert "neither kernel wrote" in answer["findings"][0]["message"]

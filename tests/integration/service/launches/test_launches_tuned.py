"""Launches of autotuned kernels: what tuning changes, and configurations that are wrong."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.conftest import Launch

CONFIGS = "triton.Config({'B': 32}), triton.Config({'B': 64}), triton.Config({'B': 128})"
HEAD = """
@triton.autotune(configs=[CONFIGS], key=["n"], **dict(MORE))
@triton.jit
def kernel(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + at, at < n, 0.0) * 2
"""
STORING = HEAD + "    tl.store(out + at, value, at < n)\n"
IN_PLACE = HEAD + "    tl.store(out + at, tl.load(out + at, at < n, 0.0) + value, at < n)\n"
ADDING = HEAD + "    tl.atomic_add(out + at, value, at < n)\n"
DOUBLED = "def reference(x, out, **_):\n    return {'out': x * 2}\n"
ADDED = "def reference(x, out, **_):\n    return {'out': out + x * 2}\n"
ZEROS = {"kind": "zeros"}


def tuned(
    code: str,
    *,
    more: str = "",
    configs: str = CONFIGS,
    reference: str = ADDED,
    init: dict[str, Any] | None = None,
    grid: Any = "cdiv(n, B)",
) -> dict[str, Any]:
    out = bodies.output(200) | {"init": init or {"kind": "uniform", "seed": 2}}
    arguments = {"x": bodies.uniform(200), "out": out, "n": 200}
    text = bodies.HEADER + code.replace("CONFIGS", configs).replace("MORE", more)
    return bodies.launch(text, "kernel", arguments, {"B": 64}, [grid], reference=reference)


def kinds(answer: dict[str, Any]) -> list[str]:
    return [found["kind"] for found in answer["findings"]]


def test_a_kernel_tuned_in_place_is_wrong_in_its_first_call(launch: Launch) -> None:
    answer = launch(tuned(IN_PLACE))

    assert (answer["verdict"], kinds(answer)) == ("mismatch", ["tuning_side_effect"]), answer
    [found] = answer["findings"]
    assert (found["argument"], found["file"], found["line"]) == ("out", "user.py", 6)
    assert 'restore_value=["out"]' in found["message"]


def test_a_kernel_that_adds_to_zeros_needs_a_reset(launch: Launch) -> None:
    answer = launch(tuned(ADDING, init=ZEROS))

    assert answer["verdict"] == "mismatch"
    assert 'reset_to_zero=["out"]' in answer["findings"][0]["message"]


def test_a_reset_of_an_argument_with_values_loses_them(launch: Launch) -> None:
    answer = launch(tuned(ADDING, more="reset_to_zero=['out']"))

    assert answer["verdict"] == "mismatch"
    assert 'restore_value=["out"]' in answer["findings"][0]["message"]


@pytest.mark.parametrize(
    "body",
    [
        tuned(IN_PLACE, more="restore_value=['out']"),
        tuned(ADDING, more="restore_value=['out']"),
        tuned(ADDING, more="reset_to_zero=['out']", init=ZEROS),
        tuned(IN_PLACE, configs="triton.Config({'B': 64})"),
        tuned(STORING, reference=DOUBLED),
        tuned(STORING, reference=DOUBLED, configs="triton.Config({'B': b}) for b in (32, 256)"),
    ],
    ids=["restored", "restored sums", "reset", "one configuration", "stored", "list of code"],
)
def test_a_right_autotuned_kernel_passes(launch: Launch, body: dict[str, Any]) -> None:
    answer = launch(body)

    assert (answer["verdict"], answer["findings"]) == ("passed", []), answer


def test_each_configuration_runs_and_a_wrong_one_is_a_mismatch(launch: Launch) -> None:
    wrong = STORING.replace("* 2", "* (3 if B == 128 else 2)")

    answer = launch(tuned(wrong, reference=DOUBLED))

    assert (answer["verdict"], kinds(answer)) == ("mismatch", ["wrong_configuration"]), answer
    assert "B=128 of kernel" in answer["findings"][0]["message"]


def test_a_configuration_that_writes_out_of_bounds_is_named(launch: Launch) -> None:
    wrong = STORING.replace("value, at < n", "value, (at < n) | (B == 32)")

    answer = launch(tuned(wrong, reference=DOUBLED))

    assert answer["verdict"] == "out_of_bounds", answer
    assert answer["findings"][0]["message"].startswith("With B=32 of kernel: ")


def test_a_configuration_that_does_not_compile_fails_as_in_triton(launch: Launch) -> None:
    configs = "triton.Config({'B': 64}), triton.Config({'B': 48})"

    answer = launch(tuned(STORING, reference=DOUBLED, configs=configs))

    assert (answer["verdict"], kinds(answer)) == ("mismatch", ["wrong_configuration"]), answer
    assert "power of 2" in answer["findings"][0]["message"]


def test_a_configuration_that_an_assertion_of_the_kernel_refuses_is_left_out(
    launch: Launch,
) -> None:
    code = STORING.replace("    at =", "    tl.static_assert(B < 128)\n    at =")

    assert launch(tuned(code, reference=DOUBLED))["verdict"] == "passed"


def test_a_grid_of_numbers_fits_only_the_launchs_constants(launch: Launch) -> None:
    answer = launch(tuned(STORING, reference=DOUBLED, grid=4))

    assert (answer["verdict"], kinds(answer)) == ("passed", ["warning"]), answer
    assert "as an expression of its constants" in answer["findings"][0]["message"]

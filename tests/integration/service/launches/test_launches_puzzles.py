"""Learners' exercises, each with a NumPy version of its specification."""

from __future__ import annotations

import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import output, uniform
from tests.integration.service.launches.conftest import Launch
from tests.integration.service.launches.puzzles import PUZZLES, matmul, puzzle


@pytest.mark.parametrize("name", PUZZLES)
def test_a_solved_puzzle_passes(launch: Launch, name: str) -> None:
    answer = launch(puzzle(name))

    assert (answer["state"], answer["verdict"]) == ("completed", "passed"), answer
    assert answer["findings"] == []


def test_a_specification_that_is_only_a_stub_is_a_mismatch(launch: Launch) -> None:
    answer = launch(
        puzzle("8 convolution", reference="def reference(x_ptr, **_):\n    return x_ptr")
    )

    comparison = answer["outputs"]["z_ptr"]["comparison"]
    assert answer["verdict"] == "mismatch"
    assert comparison["mismatched"] > 200
    assert comparison["first_mismatch"]["index"] == [0, 0, 0]
    assert comparison["first_mismatch"]["actual"] > comparison["first_mismatch"]["expected"]


def test_a_missing_comma_is_named_with_its_line(launch: Launch) -> None:
    text = (bodies.KERNELS / "broken" / "puzzle_9_matmul.py").read_text()
    square = {"x_ptr": uniform(4, 32, 32), "y_ptr": uniform(4, 32, 32), "z_ptr": output(4, 32, 32)}
    sizes = {"N0": 32, "N1": 32, "N2": 4, "MID": 32}
    body = bodies.launch(
        text, "dot_kernel", square | sizes, {"B0": 16, "B1": 16, "B2": 1}, [2, 2, 4]
    )

    answer = launch(body)

    assert (answer["state"], answer["verdict"]) == ("failed", None)
    assert answer["problem"]["slug"] == "compile_error"
    assert answer["problem"]["detail"].startswith("user.py:2")
    assert "comma" in answer["problem"]["detail"]


def test_a_syntax_error_is_named_with_its_line(launch: Launch) -> None:
    text = (bodies.KERNELS / "broken" / "puzzle_10_syntax.py").read_text()
    arguments = {"scale_ptr": uniform(64), "z_ptr": output(64)}

    answer = launch(bodies.launch(text, "quant_dot_kernel", arguments, {"MID": 64}))

    assert answer["problem"]["slug"] == "syntax_error"
    assert answer["problem"]["detail"].startswith("user.py:10: invalid decimal literal")


def test_a_vector_add_of_an_odd_number_of_blocks_is_exact(launch: Launch) -> None:
    answer = launch(bodies.vector_add(98_432, constexprs={"BLOCK_SIZE": 1024}))

    comparison = answer["outputs"]["output_ptr"]["comparison"]
    assert answer["verdict"] == "passed"
    assert comparison["max_abs_error"] == 0


def test_a_matmul_is_compared_with_the_tolerance_of_its_dtype_and_says_which(
    launch: Launch,
) -> None:
    answer = launch(matmul({}))

    comparison = answer["outputs"]["C_ptr"]["comparison"]
    assert answer["verdict"] == "passed"
    assert (comparison["rtol"], comparison["atol"]) == (1e-4, 1e-5)
    assert 0 < comparison["max_abs_error"] < 1e-4


def test_a_tolerance_tighter_than_summation_order_allows_is_a_mismatch_in_numbers(
    launch: Launch,
) -> None:
    answer = launch(matmul({"rtol": 0, "atol": 0}))

    comparison = answer["outputs"]["C_ptr"]["comparison"]
    assert answer["verdict"] == "mismatch"
    assert (comparison["rtol"], comparison["atol"]) == (0, 0)
    assert 0 < comparison["mismatched"] <= 128 * 128
    assert comparison["nonfinite_mismatched"] == 0

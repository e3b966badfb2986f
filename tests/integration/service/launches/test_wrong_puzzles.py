"""Exercises with a learner's mistakes: the findings that a teacher would give."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import output, uniform
from tests.integration.service.launches.conftest import Launch

TEN_MORE = "def reference(x_ptr, **_):\n    return x_ptr + 10\n"


def wrong(kernel: str, arguments: dict[str, Any], reference: str, **changes: Any) -> dict[str, Any]:
    usual = {"constexprs": {"B0": 32}, "grid": ["cdiv(N0, B0)"], "reference": reference}
    return bodies.launch(bodies.source("wrong_puzzles"), kernel, arguments, **(usual | changes))


def add_ten(kernel: str) -> dict[str, Any]:
    return wrong(kernel, {"x_ptr": uniform(200), "z_ptr": output(200), "N0": 200}, TEN_MORE)


@pytest.mark.parametrize(
    ("kernel", "access", "argument", "advice"),
    [
        ("forgets_the_mask_of_its_store", "write", "z_ptr", "Give tl.store a mask"),
        ("masks_one_too_many", "read", "x_ptr", "use < instead of <="),
    ],
)
def test_one_element_too_many_is_out_of_bounds(
    launch: Launch, kernel: str, access: str, argument: str, advice: str
) -> None:
    answer = launch(add_ten(kernel))

    found, *further = answer["findings"]
    assert answer["verdict"] == "out_of_bounds"
    # the store behind a wrong load has the same mask
    assert [one["argument"] for one in further] == (["z_ptr"] if access == "read" else [])
    assert (found["access"], found["argument"], found["index"]) == (access, argument, [200])
    assert found["program"] == [6, 0, 0]
    assert advice in found["message"]


@pytest.mark.parametrize(
    ("kernel", "first", "unwritten"),
    [("masks_one_too_few", 199, 1), ("forgets_its_program", 32, 168)],
)
def test_elements_that_no_program_wrote_are_a_mismatch_and_counted(
    launch: Launch, kernel: str, first: int, unwritten: int
) -> None:
    answer = launch(add_ten(kernel))

    result = answer["outputs"]["z_ptr"]
    assert answer["verdict"] == "mismatch"
    assert result["summary"]["unwritten"] == unwritten
    assert result["comparison"]["nonfinite_mismatched"] == unwritten
    assert result["comparison"]["first_mismatch"]["index"] == [first]
    assert result["comparison"]["first_mismatch"]["actual"] == "NaN"


def test_a_sum_along_the_wrong_axis_is_a_mismatch_everywhere(launch: Launch) -> None:
    arguments = {"x_ptr": uniform(8, 8), "z_ptr": output(8)}
    reference = "def reference(x_ptr, **_):\n    return x_ptr.sum(1)\n"

    answer = launch(
        wrong("sums_along_the_other_axis", arguments, reference, constexprs={"N": 8}, grid=[1])
    )

    assert answer["verdict"] == "mismatch"
    assert answer["outputs"]["z_ptr"]["comparison"]["mismatched"] == 8


def test_a_maximum_of_negative_numbers_and_zeros_shows_the_zero(launch: Launch) -> None:
    x = {
        "shape": [20],
        "dtype": "fp32",
        "init": {"kind": "uniform", "seed": 1, "low": -2, "high": -1},
    }
    reference = "def reference(x_ptr, **_):\n    return x_ptr.max(keepdims=True)\n"

    answer = launch(
        wrong("fills_a_maximum_with_zero", {"x_ptr": x, "z_ptr": output(1), "N0": 20}, reference)
    )

    assert answer["verdict"] == "mismatch"
    assert answer["outputs"]["z_ptr"]["comparison"]["first_mismatch"]["actual"] == 0


def test_a_sum_that_is_right_by_chance_is_a_race_where_that_is_checked(launch: Launch) -> None:
    total = {**output(1), "init": {"kind": "zeros"}}
    arguments = {"x_ptr": uniform(100), "z_ptr": total, "N0": 100}
    reference = "def reference(x_ptr, **_):\n    return x_ptr.sum(keepdims=True)\n"
    body = wrong("writes_from_every_program", arguments, reference)

    assert launch(body)["verdict"] == "passed"
    answer = launch(body | {"checks": ["racecheck"]})

    assert answer["verdict"] == "race"
    assert "such as tl.atomic_add" in answer["findings"][0]["message"]

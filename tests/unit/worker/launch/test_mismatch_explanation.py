"""Mismatches as small as rounding are explained as rounding, others are not."""

from types import SimpleNamespace
from typing import Any

import pytest

from launch.request.launch_record import Comparison, Output, Summary
from worker.launch.mismatch_explanation import explain


def note(
    error: float, dtype: str = "fp32", *, is_downgraded: bool = False, **changes: Any
) -> str | None:
    comparison = Comparison(
        **{"matches": False, "max_abs_error": error, "max_rel_error": 1.0, "mismatched": 9,
           "nonfinite_mismatched": 0} | changes
    )  # fmt: skip
    summary = Summary(shape=[64], dtype=dtype, min=-40.0, max=32.0, nan=0, inf=0, unwritten=0)
    run: Any = SimpleNamespace(bound=SimpleNamespace(outputs={"c": SimpleNamespace(dtype=dtype)}))
    outputs = {"c": Output(summary=summary, comparison=comparison)}
    answered = explain(outputs, run, {"c"} if is_downgraded else set())["c"].comparison
    assert answered is not None
    return answered.note


def test_a_few_roundings_are_another_order_of_additions() -> None:
    said = note(40 * 2.0**-23 * 3)

    assert said is not None
    assert "is 3 times the spacing of fp32" in said
    assert "Summation in another order" in said


def test_a_loss_of_precision_is_reported_by_its_finding_alone() -> None:
    said = note(40 * 2.0**-23 * 3, is_downgraded=True)

    assert said is not None
    assert "see the finding precision_downgrade" in said
    assert "another order" not in said


@pytest.mark.parametrize("error", [1.04e-5, 1.43e-5, 9.99e-5])
def test_the_tolerance_that_is_named_is_no_less_than_it_takes(error: float) -> None:
    said = note(error, is_downgraded=True)

    assert said is not None
    assert float(said.split("with atol ")[1].split()[0]) >= error


@pytest.mark.parametrize("error", [0.02, 1.0, 40.0])
def test_a_large_difference_is_no_matter_of_rounding(error: float) -> None:
    assert note(error) is None


@pytest.mark.parametrize("changes", [{"matches": True}, {"nonfinite_mismatched": 1}])
@pytest.mark.parametrize("is_downgraded", [True, False])
def test_what_matches_or_is_not_finite_has_no_note(
    changes: dict[str, Any], *, is_downgraded: bool
) -> None:
    assert note(1e-6, is_downgraded=is_downgraded, **changes) is None

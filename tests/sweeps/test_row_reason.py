"""The reason for a launch's verdict, in one line of a sweep's table."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.problem import failure_problem
from launch.messages import Finding
from launch.request.launch_record import CaseResult, Comparison, Launch, Mismatch, Output, Summary
from launch.request.verdict import Verdict
from sweeps.row import MAX_REASON_CHARS, verdict_reason

BEYOND = Finding(kind="out_of_bounds", file="user.py", line=7, message="reads x_ptr[100]")
IMPRECISE = Finding(kind="precision", message="tl.dot with tf32")
AT_LINE_7 = "user.py:7: reads x_ptr[100]"
WRONG = Output(
    summary=Summary(shape=[2, 4], dtype="fp32", nan=0, inf=0, unwritten=0),
    comparison=Comparison(
        matches=False,
        max_abs_error=1.0,
        max_rel_error=1.0,
        mismatched=3,
        nonfinite_mismatched=0,
        first_mismatch=Mismatch(index=[0, 1], actual=1.0, expected=2.0),
    ),
)
DIFFERS = "y: 3 of 8 elements differ; first at [0, 1]: 1.0, expected 2.0"


def launch(verdict: Verdict | None, **members: Any) -> Launch:
    return Launch(id="1", url="/v1/launches/1", state="completed", verdict=verdict, **members)


@pytest.mark.parametrize(
    ("judged", "reason"),
    [
        (launch(Verdict.PASSED, findings=[IMPRECISE]), None),
        (launch(Verdict.NOT_CHECKED, findings=[]), None),
        (launch(None), None),
        (
            launch(Verdict.OUT_OF_BOUNDS, findings=[IMPRECISE, BEYOND]),
            "user.py:7: reads x_ptr[100]",
        ),
        (launch(Verdict.MISMATCH, findings=[IMPRECISE], outputs={"y": WRONG}), DIFFERS),
        (launch(Verdict.NOT_CHECKED, findings=[IMPRECISE]), "tl.dot with tf32"),
    ],
)
def test_the_finding_or_the_difference_that_the_verdict_is_about(
    judged: Launch, reason: str | None
) -> None:
    assert verdict_reason(judged) == reason


def test_of_cases_the_first_with_the_verdict_is_reported() -> None:
    cases = [
        CaseResult(index=0, name=None, verdict=Verdict.PASSED),
        CaseResult(index=1, name="large", verdict=Verdict.MISMATCH, outputs={"y": WRONG}),
        CaseResult(index=2, name=None, verdict=Verdict.OUT_OF_BOUNDS, findings=[BEYOND]),
    ]

    assert verdict_reason(launch(Verdict.OUT_OF_BOUNDS, cases=cases)) == (f"case 2: {AT_LINE_7}")
    assert verdict_reason(launch(Verdict.MISMATCH, cases=cases[:2])) == f"case large: {DIFFERS}"


def test_a_case_that_did_not_run_is_why_nothing_has_passed() -> None:
    lost = CaseResult(index=1, name=None, problem=failure_problem("worker_lost", "it is gone"))
    passed = CaseResult(index=0, name=None, verdict=Verdict.PASSED)

    assert verdict_reason(launch(Verdict.NOT_CHECKED, cases=[passed, lost])) == (
        "case 1 did not run: it is gone"
    )


def test_a_reason_is_one_bounded_line() -> None:
    long = Finding(kind="assertion_failed", message="a\nb " * 1000)

    reason = verdict_reason(launch(Verdict.ASSERTION_FAILED, findings=[long]))

    assert reason is not None
    assert reason.startswith("a b a b")
    assert len(reason) <= MAX_REASON_CHARS

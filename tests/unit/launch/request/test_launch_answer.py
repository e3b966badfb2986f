"""Launch answers: every documented field, finite numbers and merged cases."""

import json
import math
from typing import Any

import pytest

from compiler.problem import failure_problem
from launch.messages import Finding
from launch.request.launch_record import (
    CaseResult,
    Comparison,
    Launch,
    Mismatch,
    Output,
    Summary,
    launch_url,
    number_in_json,
    with_cases,
    with_run,
)
from launch.request.verdict import Verdict

QUEUED = Launch(id="abc", url=launch_url("abc"), state="queued")
PROBLEM = failure_problem("compile_error", "no")


def run(verdict: Verdict | None = Verdict.PASSED, index: int = 0, **fields: Any) -> CaseResult:
    return CaseResult(index=index, name=None, verdict=verdict, **fields)


def test_every_documented_field_is_there_from_the_start():
    answer = json.loads(QUEUED.model_dump_json())

    assert answer.keys() >= set(
        "id url state queue_position verdict compilation device outputs deterministic timing "
        "findings cases counts stdout timings_ms problem".split()
    )
    assert answer["url"] == "/v1/launches/abc"
    assert answer["verdict"] is None


def test_every_documented_field_of_a_case_is_there():
    assert CaseResult.model_fields.keys() >= set(
        "index name verdict compilation_key outputs timing findings problem".split()
    )


def test_a_single_run_is_the_launch():
    finding = Finding(kind="race", message="two programs")
    launch = with_run(QUEUED, run(Verdict.RACE, findings=[finding], seeds={"x": 5}))

    assert (launch.state, launch.verdict) == ("completed", Verdict.RACE)
    assert launch.findings == [finding]
    assert launch.counts == {"race": 1}
    assert launch.seeds == {"x": 5}
    assert launch.cases is None


def test_a_run_that_did_not_compile_fails_the_launch():
    launch = with_run(QUEUED, run(None, problem=PROBLEM))

    assert (launch.state, launch.verdict) == ("failed", None)
    assert launch.problem == PROBLEM


def test_with_cases_the_worst_verdict_counts_and_details_are_theirs():
    verdicts = [Verdict.PASSED, Verdict.MISMATCH, Verdict.PASSED, Verdict.TIMEOUT]
    launch = with_cases(QUEUED, [run(verdict, index) for index, verdict in enumerate(verdicts)])

    assert (launch.state, launch.verdict) == ("completed", Verdict.TIMEOUT)
    assert launch.counts == {"passed": 2, "mismatch": 1, "timeout": 1}
    assert (launch.outputs, launch.timing, launch.findings) == (None, None, None)


def test_a_case_that_did_not_compile_does_not_fail_the_others_but_nothing_passes_with_it():
    launch = with_cases(QUEUED, [run(None, problem=PROBLEM), run(index=1)])

    assert (launch.state, launch.verdict) == ("completed", Verdict.NOT_CHECKED)
    assert launch.counts == {"failed": 1, "passed": 1}
    assert launch.problem is None


def test_a_case_that_did_not_compile_hides_no_worse_verdict():
    launch = with_cases(QUEUED, [run(None, problem=PROBLEM), run(Verdict.MISMATCH, 1)])

    assert launch.verdict is Verdict.MISMATCH


def test_when_no_case_could_run_the_launch_failed():
    launch = with_cases(QUEUED, [run(None, problem=PROBLEM)])

    assert (launch.state, launch.problem) == ("failed", PROBLEM)


@pytest.mark.parametrize(
    ("verdict", "failed"),
    [(Verdict.PASSED, False), (Verdict.NOT_CHECKED, False), (Verdict.MISMATCH, True), (None, True)],
)
def test_a_case_counts_as_failed_unless_it_passed(verdict: Verdict | None, failed: bool):
    assert run(verdict).failed is failed


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (2**53, 2**53),
        (2**53 + 1, "9007199254740993"),
        (-(2**63), "-9223372036854775808"),
        (1.5, 1.5),
        (True, True),
        ([[1, math.nan], [2**60, 0]], [[1, "NaN"], ["1152921504606846976", 0]]),
    ],
)
def test_numbers_in_answers_are_finite(number: Any, said: Any):
    assert number_in_json(number) == said


def test_an_answer_with_any_numbers_is_strict_json():
    summary = Summary(
        shape=[2], dtype="fp32", nan=1, inf=1, unwritten=0,
        min=-math.inf, max=2**64 - 1, mean=math.nan,
    )  # fmt: skip
    comparison = Comparison(
        matches=False,
        max_abs_error=math.inf,
        max_rel_error=0.5,
        mismatched=1,
        nonfinite_mismatched=1,
        first_mismatch=Mismatch(index=[0], actual=math.nan, expected=True),
    )
    output = Output(summary=summary, comparison=comparison, values=[math.nan, 2**63])
    launch = with_run(QUEUED, run(outputs={"out": output}))

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    said = json.loads(launch.model_dump_json(), parse_constant=refuse)["outputs"]["out"]
    assert said["summary"]["min"] == "-Infinity"
    assert said["summary"]["max"] == "18446744073709551615"
    assert said["values"] == ["NaN", "9223372036854775808"]
    assert said["comparison"]["first_mismatch"] == {"index": [0], "actual": "NaN", "expected": True}


def test_a_launch_is_read_back_from_its_json():
    launch = with_cases(QUEUED, [run(outputs={"out": Output(values=[math.inf, 2**60])})])

    assert Launch.model_validate_json(launch.model_dump_json()) == launch

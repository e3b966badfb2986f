"""Verdicts: each rule alone, then their order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launch.request.verdict import Evidence, RunEnding, Verdict, verdict_of, worst

RULES: dict[Verdict, dict[str, Any]] = {
    Verdict.INVALID_REFERENCE: {"reference_failed": True},
    Verdict.DOES_NOT_FIT: {"ending": RunEnding.DOES_NOT_FIT},
    Verdict.ILLEGAL_ACCESS: {"findings": frozenset({"illegal_access"})},
    Verdict.OUT_OF_BOUNDS: {"findings": frozenset({"out_of_bounds"})},
    Verdict.MISALIGNED_ACCESS: {"findings": frozenset({"misaligned_access"})},
    Verdict.ASSERTION_FAILED: {"findings": frozenset({"assertion_failed"})},
    Verdict.TIMEOUT: {"ending": RunEnding.TIMEOUT},
    Verdict.OUT_OF_MEMORY: {"ending": RunEnding.OUT_OF_MEMORY},
    Verdict.CRASHED: {"ending": RunEnding.CRASHED},
    Verdict.RACE: {"findings": frozenset({"race"})},
    Verdict.UNINITIALIZED: {"findings": frozenset({"uninitialized"})},
    Verdict.MISMATCH: {"matches": (True, False)},
    Verdict.INPUT_MODIFIED: {"findings": frozenset({"input_modified"})},
    Verdict.NONDETERMINISTIC: {"deterministic": False, "checks": frozenset({"determinism"})},
    Verdict.PASSED: {"matches": (True,)},
    Verdict.NOT_CHECKED: {},
}


def test_the_order_of_precedence_is_that_of_the_api():
    assert [str(verdict) for verdict in Verdict] == (
        "invalid_reference does_not_fit illegal_access out_of_bounds misaligned_access "
        "assertion_failed timeout out_of_memory crashed race uninitialized mismatch "
        "input_modified nondeterministic passed not_checked"
    ).split()


@pytest.mark.parametrize("verdict", RULES)
def test_each_verdict_has_its_evidence(verdict: Verdict):
    assert verdict_of(Evidence(**RULES[verdict])) is verdict


@pytest.mark.parametrize("verdict", RULES)
def test_evidence_counts_when_all_outputs_match(verdict: Verdict):
    evidence = Evidence(**{"matches": (True, True), **RULES[verdict]})
    expected = Verdict.PASSED if verdict is Verdict.NOT_CHECKED else verdict

    assert verdict_of(evidence) is expected


def test_of_all_evidence_at_once_the_first_applies():
    everything: dict[str, Any] = {}
    for verdict in reversed(Verdict):
        findings = everything.get("findings", frozenset()) | RULES[verdict].get("findings", set())
        everything |= {**RULES[verdict], "findings": findings}
        if "matches" in RULES[verdict]:
            everything["matches"] = RULES[verdict]["matches"]

        assert verdict_of(Evidence(**everything)) is verdict


def test_two_different_runs_are_no_verdict_unless_asked_for():
    assert verdict_of(Evidence(matches=(True,), deterministic=False)) is Verdict.PASSED


def test_equal_runs_are_deterministic():
    evidence = Evidence(matches=(True,), deterministic=True, checks=frozenset({"determinism"}))

    assert verdict_of(evidence) is Verdict.PASSED


def test_a_clean_check_does_not_make_an_output_right():
    assert verdict_of(Evidence(checks=frozenset({"memcheck"}))) is Verdict.NOT_CHECKED


def test_findings_of_other_kinds_are_no_verdict():
    findings = frozenset({"unused_argument", "nondeterministic", "passed"})

    assert verdict_of(Evidence(findings=findings)) is Verdict.NOT_CHECKED


def test_the_worst_of_none_is_none():
    assert worst([]) is None


@given(st.lists(st.sampled_from(Verdict), min_size=1))
def test_the_worst_stands_first_in_the_order(verdicts: list[Verdict]):
    order = list(Verdict)

    assert order.index(worst(verdicts)) == min(order.index(verdict) for verdict in verdicts)


@pytest.mark.parametrize("kind", ["deadlock", "endless_loop"])
def test_what_cannot_end_is_a_timeout_that_is_known_at_once(kind: str):
    assert verdict_of(Evidence(findings=frozenset({kind}))) is Verdict.TIMEOUT

"""Results of two re-checks become part of an answer; one that contradicts a proof undoes it."""

from dataclasses import replace
from typing import Any

import pytest

from launch.proof.proof_messages import AccessReport, AnswerReport, ProofReport, Rechecked
from launch.recheck.recheck_messages import AccessRecheck, CheckRecheck, RecheckReport
from proofs.worker.recheck_report import read_recheck_report
from proofs.worker.rechecked_report import needs_recheck, rechecked_report, without_rechecks
from worker.compile.reports import Malformed

AGREES = CheckRecheck(outcome="agrees", runs=7)
VIOLATED = CheckRecheck(
    outcome="violated", message="writes y_ptr[9] of 9 elements", sizes={"n": 9, "grid.x": 1}
)


def answer(verdict: Any = "proved") -> AnswerReport:
    return AnswerReport(verdict=verdict, proved_under=["grid"], reason="", line=None, expression="")


def proof(verdict: Any = "proved", kind: Any = "store") -> ProofReport:
    answers = {"bounds": answer(verdict), "overflow": answer(verdict)}
    access = AccessReport(
        file="user.py", line=3, column=5, argument="y_ptr", kind=kind, answers=answers
    )
    return ProofReport(
        accesses=[access], refused="", refused_line=None, questions=0, effort=0, solver_ms=0.0
    )


def seen(bounds: CheckRecheck, overflow: CheckRecheck = AGREES) -> RecheckReport:
    checks = {"bounds": bounds, "overflow": overflow}
    return RecheckReport(accesses=[AccessRecheck(kind="store", line=3, column=5, checks=checks)])


def bounds_of(report: ProofReport) -> AnswerReport:
    return report.accesses[0].answers["bounds"]


def test_a_proof_that_both_re_checks_agree_with_has_what_they_saw() -> None:
    bits = seen(CheckRecheck(outcome="timeout"))
    report, contradictions = rechecked_report(proof(), seen(AGREES), bits)
    assert bounds_of(report).rechecked == Rechecked(runs=7, bits="timeout")
    assert bounds_of(report).verdict == "proved"
    assert contradictions == []


@pytest.mark.parametrize("by", ["by running", "by bit-vectors"])
def test_a_proof_that_one_re_check_contradicts_is_unknown_with_its_sizes(by: str) -> None:
    both = seen(VIOLATED), seen(AGREES)
    report, [fault] = rechecked_report(proof(), *(both if by == "by running" else both[::-1]))
    found = bounds_of(report)
    assert found.verdict == "unknown"
    assert found.proved_under == []
    assert found.rechecked is None
    wanted = f"the re-check {by} contradicts the proof: writes y_ptr[9] of 9 elements at n = 9"
    assert found.reason.startswith(wanted)
    assert (fault.recheck, fault.check, fault.seen) == (by, "bounds", VIOLATED)
    assert report.accesses[0].answers["overflow"].verdict == "proved"


def test_bit_vectors_contradict_bounds_only_where_no_integer_wraps() -> None:
    [access] = proof().accesses
    for overflow, verdict in (("proved", "unknown"), ("refuted", "proved")):
        answers = access.answers | {"overflow": answer(overflow)}
        mixed = replace(proof(), accesses=[replace(access, answers=answers)])
        report, _ = rechecked_report(mixed, seen(AGREES), seen(VIOLATED))
        assert bounds_of(report).verdict == verdict
        report, _ = rechecked_report(mixed, seen(VIOLATED), seen(AGREES))
        assert bounds_of(report).verdict == "unknown"


def test_what_is_not_proved_is_not_re_checked() -> None:
    report, contradictions = rechecked_report(proof("refuted"), seen(VIOLATED), None)
    assert bounds_of(report).verdict == "refuted"
    assert bounds_of(report).rechecked is None
    assert contradictions == []
    assert not needs_recheck(proof("refuted"))
    assert needs_recheck(proof())


def test_a_re_check_that_failed_or_read_other_accesses_saw_nothing() -> None:
    for by_running in (None, RecheckReport(refused="inline assembly"), RecheckReport()):
        report, _ = rechecked_report(proof(), by_running, None)
        assert bounds_of(report).rechecked == Rechecked(runs=0, bits="not_modelled")
    report, _ = rechecked_report(proof(kind="load"), seen(VIOLATED), None)
    assert bounds_of(report).verdict == "proved"


def test_two_kernels_are_re_checked_as_one_answer() -> None:
    pair = replace(proof(), accesses=[], equivalent=answer())
    agreed, _ = rechecked_report(pair, RecheckReport(equivalent=AGREES), None)
    assert agreed.equivalent is not None
    assert agreed.equivalent.rechecked == Rechecked(runs=7, bits="not_modelled")
    contradicted, [fault] = rechecked_report(pair, RecheckReport(equivalent=VIOLATED), None)
    assert contradicted.equivalent is not None
    assert contradicted.equivalent.verdict == "unknown"
    assert fault.check == "equivalent"


def test_a_prover_that_says_it_was_re_checked_is_not_believed() -> None:
    claimed = replace(answer(), rechecked=Rechecked(runs=100, bits="agrees"))
    forged = replace(proof().accesses[0], answers={"bounds": claimed})
    report = without_rechecks(replace(proof(), accesses=[forged], equivalent=claimed))
    assert bounds_of(report).rechecked is None
    assert report.equivalent is not None
    assert report.equivalent.rechecked is None


@pytest.mark.parametrize(
    "change",
    [
        {"accesses": [{"kind": "store"}]},
        {"runs": -1},
        {"equivalent": {"outcome": "proved", "runs": 0, "message": "", "sizes": {}}},
        {"equivalent": {"outcome": "agrees", "runs": 0, "message": "x" * 5000, "sizes": {}}},
        {"equivalent": {"outcome": "agrees", "runs": 0, "message": "", "sizes": {"n": 2**70}}},
    ],
)
def test_a_hostile_report_of_a_re_check_is_refused(change: dict[str, Any]) -> None:
    right = {"accesses": [], "equivalent": None, "refused": "", "runs": 0, "ms": 1.0}
    assert read_recheck_report(right) == RecheckReport(ms=1.0)
    with pytest.raises(Malformed):
        read_recheck_report(right | change)

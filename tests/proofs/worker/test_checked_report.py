"""A worker believes a child where the certificate holds."""

import json
from dataclasses import replace

import pytest

from launch.proof.proof_messages import AnswerReport, ProofReport
from proofs.worker.certificate_checker import check
from proofs.worker.checked_report import checked_report
from tests.proofs.compiled_ttir import report_of
from tests.proofs.prover.test_prove import COPY, COPY_CONTRACT, COPY_TYPES


@pytest.fixture(scope="module")
def report() -> ProofReport:
    return report_of(COPY, COPY_TYPES, COPY_CONTRACT, {"BLOCK": 128})


def answers(report: ProofReport) -> list[AnswerReport]:
    return [answer for access in report.accesses for answer in access.answers.values()]


def test_a_report_whose_certificate_holds_stays_as_it_is(report: ProofReport) -> None:
    assert checked_report(report) == report
    assert all(answer.claims for answer in answers(report))
    assert report.certificate is not None
    assert all(check(report.certificate).values())


def test_nothing_is_proved_by_a_certificate_with_a_wrong_step(report: ProofReport) -> None:
    made = json.loads(report.certificate or "")
    first = next(entry for entry in made["entries"].values() if "claim" in entry)
    first["claim"][1][0][0] -= 1
    wrong = checked_report(replace(report, certificate=json.dumps(made)))
    assert {answer.verdict for answer in answers(wrong)} == {"unknown"}
    assert "the certificate of the proof does not hold: entry" in answers(wrong)[0].reason
    assert wrong.certificate is None


def test_an_answer_that_names_no_claim_of_the_certificate_is_unknown(report: ProofReport) -> None:
    [first, *others] = report.accesses
    bounds = replace(first.answers["bounds"], claims=[12_345])
    broken = replace(first, answers=first.answers | {"bounds": bounds})
    found = checked_report(replace(report, accesses=[broken, *others])).accesses[0].answers
    assert found["bounds"].verdict == "unknown"
    assert "no claim 12345" in found["bounds"].reason
    assert found["overflow"].verdict == "proved"


def test_what_only_the_solver_says_stays_proved_without_claims(report: ProofReport) -> None:
    made = json.loads(report.certificate or "")
    for entry in made["entries"].values():
        if "claim" in entry:
            entry["proof"] = None
    found = answers(checked_report(replace(report, certificate=json.dumps(made))))
    assert {(answer.verdict, answer.claims is None) for answer in found} == {("proved", True)}


def test_a_report_without_a_certificate_has_no_claims(report: ProofReport) -> None:
    found = answers(checked_report(replace(report, certificate=None)))
    assert {(answer.verdict, answer.claims is None) for answer in found} == {("proved", True)}

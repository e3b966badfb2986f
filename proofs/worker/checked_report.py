"""Believes a child's `proved` where its certificate holds, which this process checks itself."""

from collections.abc import Mapping
from dataclasses import replace

from launch.proof.proof_messages import AccessReport, AnswerReport, ProofReport
from proofs.worker.certificate_checker import InvalidCertificate, check, check_pair


def checked_report(report: ProofReport) -> ProofReport:
    """Return the report. If a step of its certificate does not hold, nothing in it is proved."""
    if report.equivalent is not None:
        return _of_pair(report, report.equivalent)
    certificate, fault = report.certificate, ""
    shown: Mapping[int, bool] | None = None
    if certificate is not None:
        try:
            shown = check(certificate)
        except InvalidCertificate as error:
            certificate, fault = None, f"the certificate of the proof does not hold: {error}"
    accesses = [_checked(one, shown, fault) for one in report.accesses]
    return replace(report, accesses=accesses, certificate=certificate)


def _of_pair(report: ProofReport, said: AnswerReport) -> ProofReport:
    """Return the report of two kernels, with a certificate where steps show all of it."""
    if said.verdict != "proved" or report.certificate is None:
        return replace(report, certificate=None)
    try:
        is_shown = check_pair(report.certificate)
    except InvalidCertificate as error:
        fault = f"the certificate of the proof does not hold: {error}"
        unknown = replace(said, verdict="unknown", reason=fault, proved_under=[])
        return replace(report, equivalent=unknown, certificate=None)
    return report if is_shown else replace(report, certificate=None)


def _checked(access: AccessReport, shown: Mapping[int, bool] | None, fault: str) -> AccessReport:
    answers = {
        check: _answer(said, shown, fault) if said.verdict == "proved" else said
        for check, said in access.answers.items()
    }
    return replace(access, answers=answers)


def _answer(said: AnswerReport, shown: Mapping[int, bool] | None, fault: str) -> AnswerReport:
    """Return an answer `proved`, without claims where the solver alone says so."""
    if shown is not None and said.claims is not None:
        unknown = next((number for number in said.claims if number not in shown), None)
        if unknown is None:
            return said if all(map(shown.get, said.claims)) else replace(said, claims=None)
        fault = f"the certificate of the proof has no claim {unknown}"
    if fault:
        return replace(said, verdict="unknown", reason=fault, proved_under=[], claims=None)
    return replace(said, claims=None)

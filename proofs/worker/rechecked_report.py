"""Puts what the re-checks saw into a prover's report: a contradicted proof does not count."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from launch.proof.proof_messages import AccessReport, AnswerReport, ProofReport, Rechecked
from launch.recheck.recheck_messages import AccessRecheck, CheckRecheck, RecheckReport

BitsOutcome = Literal["agrees", "timeout", "not_modelled"]
_BITS: Mapping[str, BitsOutcome] = {"agrees": "agrees", "timeout": "timeout"}
_MAX_SIZES_SHOWN = 12


@dataclass(frozen=True)
class Contradiction:
    """A proof that a re-check contradicts: a fault of the prover, or of the re-check."""

    recheck: Literal["by running", "by bit-vectors"]
    check: str
    """`bounds`, `overflow`, `race`, or `equivalent`."""
    access: AccessReport | None
    """None for two kernels."""
    seen: CheckRecheck


def needs_recheck(report: ProofReport) -> bool:
    """Return whether anything is proved."""
    return any(answer.verdict == "proved" for answer in _answers(report))


def without_rechecks(report: ProofReport) -> ProofReport:
    """Return the report without any word of re-checks: a prover's child cannot have made them."""
    accesses = [
        replace(access, answers={k: replace(v, rechecked=None) for k, v in access.answers.items()})
        for access in report.accesses
    ]
    compared = report.equivalent
    equivalent = None if compared is None else replace(compared, rechecked=None)
    return replace(report, accesses=accesses, equivalent=equivalent)


def _answers(report: ProofReport) -> Iterator[AnswerReport]:
    for access in report.accesses:
        yield from access.answers.values()
    if report.equivalent is not None:
        yield report.equivalent


def rechecked_report(
    report: ProofReport, by_running: RecheckReport | None, by_bits: RecheckReport | None
) -> tuple[ProofReport, list[Contradiction]]:
    """Return the report with the results of both re-checks, and the proofs that they contradict.

    A re-check is None where its child failed.
    """
    contradictions: list[Contradiction] = []
    runs, bits = (_accesses_like(report, recheck) for recheck in (by_running, by_bits))
    accesses = []
    for number, access in enumerate(report.accesses):
        answers = {}
        for check, answer in access.answers.items():
            by_run = None if runs is None else runs[number].checks.get(check)
            by_bit = None if bits is None else _of_exact(bits[number].checks.get(check), access)
            answers[check] = _answer(answer, (by_run, by_bit), check, access, contradictions)
        accesses.append(replace(access, answers=answers))
    equivalent = report.equivalent
    if equivalent is not None:
        seen = [
            None if recheck is None else recheck.equivalent for recheck in (by_running, by_bits)
        ]
        equivalent = _answer(equivalent, seen, "equivalent", None, contradictions)
    return replace(report, accesses=accesses, equivalent=equivalent), contradictions


def _of_exact(seen: CheckRecheck | None, access: AccessReport) -> CheckRecheck | None:
    """Return what bit-vectors found, None where it is about integers that may have wrapped.

    They are the machine's integers. Bounds and races are about exact ones, which are the same where
    no integer wraps.
    """
    overflow = access.answers.get("overflow")
    is_exact = overflow is not None and overflow.verdict == "proved"
    return seen if is_exact or seen is None or seen.outcome != "violated" else None


def _accesses_like(report: ProofReport, by: RecheckReport | None) -> list[AccessRecheck] | None:
    """Return a re-check's accesses, None unless they are those of the prover's report."""
    if by is None:
        return None
    kinds = [[access.kind for access in accesses] for accesses in (report.accesses, by.accesses)]
    return by.accesses if kinds[0] == kinds[1] else None


def _answer(
    answer: AnswerReport,
    seen: Sequence[CheckRecheck | None],
    check: str,
    access: AccessReport | None,
    contradictions: list[Contradiction],
) -> AnswerReport:
    if answer.verdict != "proved":
        return replace(answer, rechecked=None)
    by_running, by_bits = seen
    broken: Contradiction | None = None
    if by_running is not None and by_running.outcome == "violated":
        broken = Contradiction("by running", check, access, by_running)
    elif by_bits is not None and by_bits.outcome == "violated":
        broken = Contradiction("by bit-vectors", check, access, by_bits)
    if broken is not None:
        contradictions.append(broken)
        reason = reason_of(broken)
        return replace(answer, verdict="unknown", reason=reason, proved_under=[], rechecked=None)
    runs = 0 if by_running is None else by_running.runs
    bits = "not_modelled" if by_bits is None else _BITS.get(by_bits.outcome, "not_modelled")
    return replace(answer, rechecked=Rechecked(runs=runs, bits=bits))


def reason_of(broken: Contradiction) -> str:
    """Return why a contradicted proof does not count, with the sizes that show it."""
    sizes = list(broken.seen.sizes.items())
    shown = ", ".join(f"{name} = {value:,}" for name, value in sizes[:_MAX_SIZES_SHOWN])
    more = ", ..." if len(sizes) > _MAX_SIZES_SHOWN else ""
    where = f" at {shown}{more}" if shown else ""
    return f"the re-check {broken.recheck} contradicts the proof: {broken.seen.message}{where}"

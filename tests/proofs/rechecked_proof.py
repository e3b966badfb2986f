"""Proves a kernel, and re-checks the proof in both ways with long limits."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from unittest.mock import patch

from compiler.proof import obligations
from compiler.proof.binding import SizeLimits
from compiler.proof.obligations import Conclusion, Prover
from compiler.proof.prove import AccessProof, prove
from compiler.proof.race_prover import RaceProver
from compiler.proof.structure import name_arguments
from compiler.proof.terms import SymbolicAccess, UnreadAccess
from compiler.recheck.find_violations import EFFORT
from compiler.recheck.machine import MAX_TURNS
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.task import generic_form
from launch.contract.text import read_contract
from launch.proof.proof_messages import AccessReport, AnswerReport, ProofReport
from launch.recheck import recheck_by_running
from launch.recheck.recheck_by_bits import bits_report
from launch.recheck.recheck_messages import (
    BitsOrder,
    RecheckedKernel,
    RecheckOrder,
    RecheckReport,
)
from proofs.worker.rechecked_report import (
    Contradiction,
    needs_recheck,
    reason_of,
    rechecked_report,
)
from tests.proofs.compiled_ttir import TARGET
from tests.proofs.narrow_world import narrow_world

ALL_CHECKS = ("bounds", "overflow", "races")
EFFORT_PER_S = 2 * EFFORT
"""Units of z3's effort in a second, about."""


@dataclass(frozen=True)
class KernelToProve:
    """A kernel, its contract, and words that name it."""

    name: str
    source: str
    text: str
    """Its TTIR."""
    parameters: Sequence[str]
    contract: str
    constants: Mapping[str, Any]
    limits: SizeLimits = field(default_factory=SizeLimits)
    checks: Sequence[str] = ALL_CHECKS


@dataclass(frozen=True)
class Effort:
    """The seconds of each re-check, and the turns of loops that bit-vectors unroll."""

    seconds: float = 60.0
    turns: int = MAX_TURNS
    is_narrow: bool = False
    """True where integers have the widths of `narrow_world`: the CPU device has none of these."""


def proof_report(kernel: KernelToProve) -> ProofReport:
    """Return the prover's answer before any re-check.

    Raises Unsupported, ProofLimitReached, ContractError.
    """
    module = module_of(generic_form(kernel.text, TARGET, "ttir")[0])
    name_arguments(module, kernel.parameters)
    contract = read_contract(kernel.contract)
    proof = prove(module, contract, kernel.constants, kernel.limits, kernel.checks)
    return ProofReport(
        accesses=[_access(one) for one in proof.accesses],
        refused="", refused_line=None, questions=0, effort=0, solver_ms=0.0,
    )  # fmt: skip


def _access(proved: AccessProof) -> AccessReport:
    asked = {"bounds": proved.bounds, "overflow": proved.overflow, "race": proved.race}
    line, column = _place_of(proved.access)
    return AccessReport(
        file=None,
        line=line,
        column=column,
        argument=None,
        kind=proved.access.kind,
        answers={
            check: AnswerReport(
                verdict=conclusion.verdict, proved_under=[], reason=conclusion.reason, line=None,
                expression="",
            )
            for check, conclusion in asked.items()
            if conclusion is not None
        },
    )  # fmt: skip


@contextmanager
def _contradictable_only(by_running: Callable[[], RecheckReport | None]) -> Iterator[None]:
    """Have the prover ask only about what a re-check may contradict.

    These are accesses whose integers it proves not to wrap, since bit-vectors contradict no other
    proof (see `_wanted`), and what the runs saw broken. The runs are made when first asked for.
    """
    bounds, race = Prover.bounds, RaceProver.race
    skipped = Conclusion("unknown")

    def is_asked(prover: Prover, access: SymbolicAccess | UnreadAccess, check: str) -> bool:
        if not isinstance(access, SymbolicAccess):
            return False
        if prover.overflow(access).verdict == "proved":
            return True
        runs = by_running()
        return runs is not None and (*_place_of(access), check) in _broken(runs)

    def bounds_if_asked(prover: Prover, access: SymbolicAccess) -> Conclusion:
        return bounds(prover, access) if is_asked(prover, access, "bounds") else skipped

    def race_if_asked(races: RaceProver, number: int) -> Conclusion | None:
        access = races.accesses[number]
        if access.kind == "load" or is_asked(races.prover, access, "race"):
            return race(races, number)
        return skipped

    with (
        patch.object(Prover, "bounds", bounds_if_asked),
        patch.object(RaceProver, "race", race_if_asked),
    ):
        yield


def _broken(runs: RecheckReport) -> set[tuple[int | None, int | None, str]]:
    """Return the places of accesses, and what runs saw broken there."""
    return {
        (one.line, one.column, check)
        for one in runs.accesses
        for check, seen in one.checks.items()
        if seen.outcome == "violated"
    }


def _place_of(access: SymbolicAccess | UnreadAccess) -> tuple[int | None, int | None]:
    locations = access.operation.locations
    return (locations[0].line, locations[0].column) if locations else (None, None)


@contextmanager
def _nothing_refuted() -> Iterator[None]:
    """Have the prover look for no witness where it has no proof: only proofs are re-checked."""
    refuted = Conclusion("refuted")
    with (
        patch.object(Prover, "broken", lambda *_: refuted),
        patch.object(obligations, "_MAX_REFUTED", 1),
    ):
        yield


def _wanted(report: ProofReport) -> list[list[str]]:
    """Return the checks of each access in which bit-vectors can contradict a proof.

    Where integers may have wrapped they contradict nothing: see `rechecked_report`.
    """
    made = []
    for access in report.accesses:
        proved = [name for name, answer in access.answers.items() if answer.verdict == "proved"]
        named = ["races" if name == "race" else name for name in proved]
        made.append(named if "overflow" in proved else [])
    return made


def rechecked_proof(
    kernel: KernelToProve, effort: Effort, counts: Counter[str]
) -> list[Contradiction]:
    """Prove a kernel, re-check what is proved, count the answers, return the contradictions.

    Raises Unsupported, ProofLimitReached, ContractError.
    """
    if effort.is_narrow:
        with narrow_world():
            return _rechecked(kernel, effort, counts)
    return _rechecked(kernel, effort, counts)


def _rechecked(kernel: KernelToProve, effort: Effort, counts: Counter[str]) -> list[Contradiction]:

    @cache
    def by_running() -> RecheckReport | None:
        return None if effort.is_narrow else _by_running(kernel, effort)

    with _nothing_refuted(), _contradictable_only(by_running):
        report = proof_report(kernel)
    if not needs_recheck(report):
        counts["kernels with nothing proved"] += 1
        return []
    counts["kernels with a proof"] += 1
    wanted = _wanted(report)
    by_bits = _by_bits(kernel, effort, wanted) if any(wanted) else None
    for way, made in (("running", by_running()), ("bit-vectors", by_bits)):
        if made is not None and made.refused:
            counts[f"kernels that {way} cannot read"] += 1
    amended, contradictions = rechecked_report(report, by_running(), by_bits)
    for access, asked in zip(amended.accesses, wanted, strict=True):
        for check, answer in access.answers.items():
            if answer.rechecked is not None:
                bits = answer.rechecked.bits if asked else "not asked"
                counts[f"{check}: bit-vectors {bits}"] += 1
                if not effort.is_narrow and not answer.rechecked.runs:
                    counts[f"{check}: no run reached it"] += 1
    counts["contradictions"] += len(contradictions)
    return contradictions


def _order(kernel: KernelToProve, kind: type[RecheckOrder]) -> RecheckOrder:
    rechecked = RecheckedKernel(
        ttir_bytes=len(kernel.text.encode()),
        contract=kernel.contract,
        constants=kernel.constants,
        parameters=kernel.parameters,
    )
    return kind(
        target=TARGET,
        kernel=rechecked,
        checks=kernel.checks,
        most_size=kernel.limits.size,
        most_elements=kernel.limits.elements,
    )


def _by_running(kernel: KernelToProve, effort: Effort) -> RecheckReport:
    order = _order(kernel, RecheckOrder)
    with patch.object(recheck_by_running, "MAX_CPU_S", effort.seconds):
        return recheck_by_running.recheck(order, kernel.text.encode(), lambda *_: None)


def _by_bits(
    kernel: KernelToProve, effort: Effort, wanted: Sequence[Collection[str]]
) -> RecheckReport:
    order = _order(kernel, BitsOrder)
    assert isinstance(order, BitsOrder)
    units = int(EFFORT_PER_S * effort.seconds)
    return bits_report(order, kernel.text.encode(), units, effort.turns, wanted)


def reproduction(kernel: KernelToProve, contradictions: Sequence[Contradiction]) -> str:
    """Return the source, the contract, and the sizes that contradict its proof."""
    reasons = [
        f"{one.check} at line {one.access and one.access.line}: {reason_of(one)}"
        for one in contradictions
    ]
    types = f"{dict(kernel.constants)} {kernel.limits}"
    return "\n".join([f"--- {kernel.name}", kernel.source, types, kernel.contract, *reasons])

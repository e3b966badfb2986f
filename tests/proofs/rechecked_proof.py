"""Proves a kernel, and re-checks the proof in both ways with long limits."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from compiler.proof import obligations
from compiler.proof.binding import SizeLimits
from compiler.proof.obligations import Conclusion
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
    locations = proved.access.operation.locations
    return AccessReport(
        file=None,
        line=locations[0].line if locations else None,
        column=locations[0].column if locations else None,
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
def _exact_only() -> Iterator[None]:
    """Have the prover ask only about accesses whose integers it proves not to wrap.

    Bit-vectors contradict no other proof: see `_wanted`.
    """
    bounds, race = obligations.Prover.bounds, RaceProver.race
    skipped = Conclusion("unknown")

    def is_exact(prover: obligations.Prover, access: SymbolicAccess | UnreadAccess) -> bool:
        if not isinstance(access, SymbolicAccess):
            return False
        return prover.overflow(access).verdict == "proved"

    def bounds_of_exact(prover: obligations.Prover, access: SymbolicAccess) -> Conclusion:
        return bounds(prover, access) if is_exact(prover, access) else skipped

    def race_of_exact(races: RaceProver, number: int) -> Conclusion | None:
        access = races.accesses[number]
        is_asked = access.kind == "load" or is_exact(races.prover, access)
        return race(races, number) if is_asked else skipped

    with (
        patch.object(obligations.Prover, "bounds", bounds_of_exact),
        patch.object(RaceProver, "race", race_of_exact),
    ):
        yield


@contextmanager
def _nothing_refuted() -> Iterator[None]:
    """Have the prover look for no witness where it has no proof: only proofs are re-checked."""
    refuted = Conclusion("refuted")
    with (
        patch.object(obligations.Prover, "broken", lambda *_: refuted),
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
        with narrow_world(), _exact_only():
            return _rechecked(kernel, effort, counts)
    return _rechecked(kernel, effort, counts)


def _rechecked(kernel: KernelToProve, effort: Effort, counts: Counter[str]) -> list[Contradiction]:
    with _nothing_refuted():
        report = proof_report(kernel)
    if not needs_recheck(report):
        counts["kernels with nothing proved"] += 1
        return []
    counts["kernels with a proof"] += 1
    wanted = _wanted(report)
    by_running = None if effort.is_narrow else _by_running(kernel, effort)
    by_bits = _by_bits(kernel, effort, wanted) if any(wanted) else None
    for way, made in (("running", by_running), ("bit-vectors", by_bits)):
        if made is not None and made.refused:
            counts[f"kernels that {way} cannot read"] += 1
    amended, contradictions = rechecked_report(report, by_running, by_bits)
    for access, asked in zip(amended.accesses, wanted, strict=True):
        for check, answer in access.answers.items():
            if answer.rechecked is not None:
                bits = answer.rechecked.bits if asked else "not asked"
                counts[f"{check}: bit-vectors {bits}"] += 1
                if by_running is not None and not answer.rechecked.runs:
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

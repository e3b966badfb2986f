"""Proves a kernel's accesses against a contract. The way into this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from compiler.proof.access_reader import accesses_of, written_buffers
from compiler.proof.binding import BoundContract, SizeLimits, bind
from compiler.proof.contract import Contract
from compiler.proof.evaluator import Evaluator
from compiler.proof.linear import LinearProver
from compiler.proof.logic import FALSE
from compiler.proof.obligations import Conclusion, Prover
from compiler.proof.race_prover import RaceProver
from compiler.proof.structure import structure_of
from compiler.proof.terms import SymbolicAccess, UnreadAccess
from compiler.proof.unknowns import Unknowns
from compiler.ttir_to_numpy.ir import Operation


@dataclass(frozen=True)
class AccessProof:
    """One access with the answers to what was asked."""

    access: SymbolicAccess | UnreadAccess
    bounds: Conclusion | None = None
    overflow: Conclusion | None = None
    race: Conclusion | None = None


@dataclass
class KernelProof:
    """The answers about one kernel, and what they were found with."""

    accesses: list[AccessProof]
    contract: BoundContract
    prover: Prover
    notes: list[str] = field(default_factory=list)


def prove(
    module: Operation,
    contract: Contract,
    constants: Mapping[str, int],
    limits: SizeLimits,
    checks: Sequence[str] = ("bounds", "overflow"),
) -> KernelProof:
    """Prove a kernel. Raises Unsupported, ProofLimitReached, ContractError."""
    prover = prover_of(module, contract, constants, limits)
    answers = []
    accesses = accesses_of(prover.evaluator)
    races = RaceProver(prover, accesses) if "races" in checks else None
    for number, access in enumerate(accesses):
        race = None if races is None else races.race(number)
        answers.append(_answers(prover, access, checks, race))
    return KernelProof(_with_choices(answers, prover), prover.contract, prover)


def _with_choices(answers: list[AccessProof], prover: Prover) -> list[AccessProof]:
    """Return the answers, which also rest on what was shown to read the kernel."""
    choices = prover.choices()
    if not choices:
        return answers

    def amended(conclusion: Conclusion | None) -> Conclusion | None:
        is_proved = conclusion is not None and conclusion.verdict == "proved"
        return (
            replace(conclusion, under=conclusion.under | choices)
            if conclusion and is_proved
            else conclusion
        )

    return [
        AccessProof(
            answer.access, amended(answer.bounds), amended(answer.overflow), amended(answer.race)
        )
        for answer in answers
    ]


def _answers(
    prover: Prover,
    access: SymbolicAccess | UnreadAccess,
    checks: Sequence[str],
    race: Conclusion | None,
) -> AccessProof:
    """Return whether an access is in bounds, and its integers exact, where that was asked."""
    if isinstance(access, UnreadAccess):
        refused = Conclusion("unknown", reason=access.reason)
        bounds, overflow = (
            refused if check in checks else None for check in ("bounds", "overflow")
        )
        return AccessProof(access, bounds, overflow, race)
    bounds = prover.bounds(access) if "bounds" in checks else None
    overflow = prover.overflow(access) if "overflow" in checks else None
    is_any_proved = any(map(_is_proved, (bounds, overflow, race)))
    if is_any_proved and not prover.is_reached(access):
        reason = _why_never_reached(prover)
        bounds, overflow, race = (
            _vacuous(conclusion, reason) for conclusion in (bounds, overflow, race)
        )
    return AccessProof(access, bounds, overflow, race)


def _is_proved(finding: Conclusion | None) -> bool:
    return finding is not None and finding.verdict == "proved"


def _why_never_reached(prover: Prover) -> str:
    """Return what to change where no sizes were found that reach an access."""
    contradiction = prover.shown(FALSE, ())
    if contradiction is None:
        return "no sizes that keep the contract were found to reach it"
    statements = ", ".join(sorted(contradiction)) or "an empty grid, or more than a type holds"
    return f"no sizes keep the contract, which contradicts itself: {statements}"


def _vacuous(finding: Conclusion | None, reason: str) -> Conclusion | None:
    """Return that nothing was proved about an access that no sizes were found to reach."""
    return Conclusion("unknown", reason=reason) if _is_proved(finding) else finding


def prover_of(
    module: Operation, contract: Contract, constants: Mapping[str, int], limits: SizeLimits
) -> Prover:
    """Return what answers obligations of a kernel. Raises as `prove` does."""
    structure = structure_of(module)
    unknowns = Unknowns()
    bound = bind(contract, structure.parameters, constants, limits, unknowns)
    evaluator = Evaluator(structure, unknowns, bound.fixed, bound.grid)
    written = written_buffers(structure, evaluator) if bound.value_ranges else frozenset()
    ranges = {} if written is None else bound.value_ranges
    kept = {text: ends for text, ends in ranges.items() if text not in (written or ())}
    linear = LinearProver(unknowns, bound.facts, bound.written)
    unknowns.prove = lambda formula, conditions: linear.always(formula, conditions) is not None
    evaluator = Evaluator(structure, unknowns, bound.fixed, bound.grid, kept)
    return Prover(evaluator, unknowns, bound, linear)

"""Verdicts: what one word says of a run, and the one order in which they apply."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """In the order of precedence: of those that apply, the first is the verdict."""

    INVALID_REFERENCE = "invalid_reference"
    DOES_NOT_FIT = "does_not_fit"
    ILLEGAL_ACCESS = "illegal_access"
    OUT_OF_BOUNDS = "out_of_bounds"
    MISALIGNED_ACCESS = "misaligned_access"
    ASSERTION_FAILED = "assertion_failed"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    RACE = "race"
    UNINITIALIZED = "uninitialized"
    MISMATCH = "mismatch"
    INPUT_MODIFIED = "input_modified"
    NONDETERMINISTIC = "nondeterministic"
    PASSED = "passed"
    NOT_CHECKED = "not_checked"


_PRECEDENCE = {verdict: rank for rank, verdict in enumerate(Verdict)}
_OF_FINDINGS = frozenset(
    {
        Verdict.ILLEGAL_ACCESS,
        Verdict.OUT_OF_BOUNDS,
        Verdict.MISALIGNED_ACCESS,
        Verdict.ASSERTION_FAILED,
        Verdict.RACE,
        Verdict.UNINITIALIZED,
    }
)
GOOD = frozenset({Verdict.PASSED, Verdict.NOT_CHECKED})
"""The verdicts that are no failure (of a case, for `stop_after_failures`)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one run.

    `findings` are the kinds found; `matches` one entry for each output that was compared, empty
    without a reference; `deterministic` None when it was not run twice; `checks` those asked for.
    """

    reference_failed: bool = False
    fits: bool = True
    findings: frozenset[str] = frozenset()
    timed_out: bool = False
    out_of_memory: bool = False
    crashed: bool = False
    matches: tuple[bool, ...] = ()
    inputs_modified: bool = False
    deterministic: bool | None = None
    checks: frozenset[str] = frozenset()
    unchecked: bool = False
    """A check that was asked for did not get to its end, so nothing can be said to have passed."""


def verdict_of(evidence: Evidence) -> Verdict:
    """Return the first verdict that applies; `not_checked` when nothing was compared."""
    return worst(_applying(evidence)) or Verdict.NOT_CHECKED


def worst(verdicts: Iterable[Verdict]) -> Verdict | None:
    """Return the verdict of highest precedence, None of none."""
    return min(verdicts, key=_PRECEDENCE.__getitem__, default=None)


def _applying(evidence: Evidence) -> set[Verdict]:
    asked = "determinism" in evidence.checks
    holds = {
        Verdict.INVALID_REFERENCE: evidence.reference_failed,
        Verdict.DOES_NOT_FIT: not evidence.fits,
        Verdict.TIMEOUT: evidence.timed_out,
        Verdict.OUT_OF_MEMORY: evidence.out_of_memory,
        Verdict.CRASHED: evidence.crashed,
        Verdict.MISMATCH: not all(evidence.matches),
        Verdict.INPUT_MODIFIED: evidence.inputs_modified,
        Verdict.NONDETERMINISTIC: asked and evidence.deterministic is False,
        Verdict.PASSED: bool(evidence.matches) and not evidence.unchecked,
    }
    found = {Verdict(kind) for kind in evidence.findings & _OF_FINDINGS}
    return found | {verdict for verdict, applies in holds.items() if applies}

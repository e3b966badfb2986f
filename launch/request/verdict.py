"""Verdicts: one word for the result of a run, and their order of precedence."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from launch.messages import TUNING_SIDE_EFFECT


class Verdict(StrEnum):
    """In the order of precedence: the first that applies is the verdict."""

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


class RunEnding(StrEnum):
    """The end of a run of the kernel: exactly one of these."""

    FINISHED = "finished"
    """It ended normally, or at a finding of a checked access."""
    FAULT = "fault"
    """The device stopped it because of a finding."""
    DOES_NOT_FIT = "does_not_fit"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    NOT_RUN = "not_run"
    """It could not start, or its end is unknown: there is a problem, and no verdict."""


_PRECEDENCE = {verdict: rank for rank, verdict in enumerate(Verdict)}
_OF_ENDINGS = {
    RunEnding.DOES_NOT_FIT: Verdict.DOES_NOT_FIT,
    RunEnding.TIMEOUT: Verdict.TIMEOUT,
    RunEnding.OUT_OF_MEMORY: Verdict.OUT_OF_MEMORY,
    RunEnding.CRASHED: Verdict.CRASHED,
}
OF_FINDINGS = frozenset(
    {
        Verdict.ILLEGAL_ACCESS,
        Verdict.OUT_OF_BOUNDS,
        Verdict.MISALIGNED_ACCESS,
        Verdict.ASSERTION_FAILED,
        Verdict.RACE,
        Verdict.UNINITIALIZED,
        Verdict.INPUT_MODIFIED,
    }
)
"""The verdicts that are kinds of findings."""
FALSE_PROMISE = "false_promise"
"""The finding of a hint that does not hold. Its verdict depends on what relies on the hint."""
DEADLOCK = "deadlock"
"""The finding that no program instance that is left can go on: it would end as a timeout."""
ENDLESS_LOOP = "endless_loop"
"""The finding that a program instance repeats a loop for ever: it would end as a timeout."""
WRONG_CONFIGURATION = "wrong_configuration"
"""The finding that a configuration of an autotuned kernel does not match the reference."""
CHECK_INCOMPLETE = "check_incomplete"
"""The finding that a requested check did not complete: then nothing has passed."""
GOOD = frozenset({Verdict.PASSED, Verdict.NOT_CHECKED})
"""The verdicts that do not count as failures of a case for `stop_after_failures`."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The results of one run.

    `findings` are the kinds found. `matches` has one entry for each compared output, none without
    a reference. `deterministic` is None if it did not run twice. `checks` are the requested ones.
    """

    ending: RunEnding = RunEnding.FINISHED
    findings: frozenset[str] = frozenset()
    matches: tuple[bool, ...] = ()
    deterministic: bool | None = None
    checks: frozenset[str] = frozenset()
    reference_failed: bool = False
    """The problem of the reference's own run, independent of the kernel's findings."""


def evident_kind(kind: str, access: str | None) -> str:
    """Return the kind that decides the verdict, of a finding with this `kind` and `access`."""
    if kind != FALSE_PROMISE:
        return kind
    return str(Verdict.ASSERTION_FAILED if access is None else Verdict.MISALIGNED_ACCESS)


def verdict_of(evidence: Evidence) -> Verdict:
    """Return the first verdict that applies; `not_checked` when nothing was compared."""
    return worst(_applying(evidence)) or Verdict.NOT_CHECKED


def worst(verdicts: Iterable[Verdict]) -> Verdict | None:
    """Return the verdict of highest precedence, None if there is none."""
    return min(verdicts, key=_PRECEDENCE.__getitem__, default=None)


def _applying(evidence: Evidence) -> set[Verdict]:
    asked = "determinism" in evidence.checks
    holds = {
        Verdict.INVALID_REFERENCE: evidence.reference_failed,
        Verdict.TIMEOUT: bool({DEADLOCK, ENDLESS_LOOP} & evidence.findings),
        Verdict.MISMATCH: not all(evidence.matches) or TUNING_SIDE_EFFECT in evidence.findings,
        Verdict.NONDETERMINISTIC: asked and evidence.deterministic is False,
        Verdict.PASSED: bool(evidence.matches) and CHECK_INCOMPLETE not in evidence.findings,
    }
    applying = {Verdict(kind) for kind in evidence.findings & OF_FINDINGS}
    if evidence.ending in _OF_ENDINGS:
        applying.add(_OF_ENDINGS[evidence.ending])
    return applying | {verdict for verdict, applies in holds.items() if applies}

"""Classifies the result of a fuzz case: a fault of the kernel, of the case, or a timeout."""

from dataclasses import replace
from enum import Enum
from typing import Any

from launch.messages import Finding
from launch.request.launch_record import CaseResult, Comparison, Output
from launch.request.verdict import GOOD, Verdict
from worker.launch.cpu_device import DOES_NOT_COMPILE

_TIME_IS_UP = frozenset({"deadline_exceeded", "worker_lost"})
_DOES_NOT_COMPILE = frozenset({"compile_error", "lowering_failed", "compiler_crashed"})
REFUSED = "the reference refuses it"
ON_ROUNDING = "its answers hang on rounding"
_ROUNDED_SHARE, _ROUNDED_ERROR = 0.02, 16.0
"""Of the elements, and of the tolerance: as few as that, off by as little, may be rounding."""
_OF_RESOURCES = frozenset({Verdict.DOES_NOT_FIT, Verdict.OUT_OF_MEMORY, Verdict.TIMEOUT})


class Outcome(Enum):
    """The outcome of a case."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    """It says nothing of the kernel: the launch could not have it, or nothing was to compare."""
    ENDED = "ended"
    """There is no time for more."""


def outcome_of(result: CaseResult) -> tuple[Outcome, str]:
    """Return what a result says, and a word for it: a verdict, or why a case is left out."""
    problem = result.problem
    if problem is not None:
        if problem.slug in _TIME_IS_UP:
            return Outcome.ENDED, problem.slug
        if problem.slug in _DOES_NOT_COMPILE:
            return Outcome.FAILED, DOES_NOT_COMPILE
        return Outcome.SKIPPED, problem.slug
    if result.verdict is Verdict.PASSED:
        return Outcome.PASSED, result.verdict
    if result.verdict is Verdict.INVALID_REFERENCE:
        return Outcome.SKIPPED, REFUSED
    if result.verdict is Verdict.NOT_CHECKED:
        return Outcome.SKIPPED, ON_ROUNDING
    if result.verdict is None or result.verdict in _OF_RESOURCES:
        return Outcome.SKIPPED, str(result.verdict)
    assert result.verdict not in GOOD
    if result.verdict is Verdict.MISMATCH and _is_rounding(result):
        return Outcome.SKIPPED, ON_ROUNDING
    return Outcome.FAILED, result.verdict


def _is_rounding(result: CaseResult) -> bool:
    """Return True if only a few elements are wrong, and only slightly."""
    found = [output.comparison for output in result.outputs.values() if output.comparison]
    wrong = [comparison for comparison in found if not comparison.matches]
    return bool(wrong) and all(map(_are_few_and_near, wrong))


def _are_few_and_near(comparison: Comparison) -> bool:
    first = comparison.first_mismatch
    if comparison.nonfinite_mismatched or comparison.unwritten or first is None:
        return False
    actual, expected = float(first.actual), float(first.expected)
    allowed = (comparison.atol or 0.0) + (comparison.rtol or 0.0) * abs(expected)
    are_few = comparison.mismatched <= _ROUNDED_SHARE * (comparison.compared or 0)
    return are_few and abs(actual - expected) <= _ROUNDED_ERROR * allowed


def verdict_after(word: str) -> Verdict:
    """Return the verdict of a launch in which a fuzz case failed so."""
    return Verdict.NOT_CHECKED if word == DOES_NOT_COMPILE else Verdict(word)


def finding_of_case(result: CaseResult, word: str, changed: str, case: dict[str, Any]) -> Finding:
    """Return the finding of a case that failed; `changed` says in words what it changes."""
    found = next((each for each in result.findings if each.kind == word), None)
    if found is not None:
        return replace(found, message=f"With {changed}: {found.message}", case=case)
    if result.problem is not None:
        message = f"With {changed} it does not compile: {result.problem.detail}"
        return Finding(kind=word, message=message, case=case)
    name, output = _first_mismatch(result)
    first = output.comparison.first_mismatch if output and output.comparison else None
    return Finding(
        kind=word,
        argument=name,
        index=first.index if first else None,
        message=f"With {changed}: {_difference(name, output)}",
        case=case,
    )


def _first_mismatch(result: CaseResult) -> tuple[str | None, Output | None]:
    for name, output in result.outputs.items():
        if output.comparison is not None and not output.comparison.matches:
            return name, output
    return None, None


def _difference(name: str | None, output: Output | None) -> str:
    comparison = output.comparison if output is not None else None
    if comparison is None:
        return "the outputs are not what the reference says."
    first = comparison.first_mismatch
    many = f"{comparison.mismatched} of {comparison.compared} compared elements do not match"
    if first is None:
        return f"{name} is not what the reference says: {many}."
    place = f"{name}[{', '.join(map(str, first.index))}]"
    if comparison.unwritten:
        return f"nobody wrote {place}, which should be {first.expected}; {many}."
    return f"{place} is {first.actual} and should be {first.expected}; {many}."

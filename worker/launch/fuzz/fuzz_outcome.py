"""Classifies the result of a fuzz case: a fault of the kernel, of the case, or a timeout."""

from dataclasses import replace
from enum import Enum
from typing import Any

from launch.messages import Finding
from launch.request.launch_record import CaseResult, Comparison, Output
from launch.request.verdict import GOOD, Verdict, evident_kind
from worker.launch.cpu_device import DOES_NOT_COMPILE

_TIME_IS_UP = frozenset({"deadline_exceeded", "worker_lost"})
_DOES_NOT_COMPILE = frozenset({"compile_error", "lowering_failed", "compiler_crashed"})
REFUSED = "the reference refuses it"
ON_ROUNDING = "its results depend on rounding"
_ROUNDED_SHARE, _ROUNDED_ERROR = 0.02, 16.0
"""The share of elements, and multiple of the tolerance, up to which rounding is plausible."""
_OF_RESOURCES = frozenset({Verdict.DOES_NOT_FIT, Verdict.OUT_OF_MEMORY, Verdict.TIMEOUT})


class Outcome(Enum):
    """The outcome of a case."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    """It does not test the kernel: the request cannot express it, or nothing was compared."""
    ENDED = "ended"
    """The time for fuzzing is over."""


def outcome_of(result: CaseResult) -> tuple[Outcome, str]:
    """Return the outcome of a result with a word for it: a verdict, or why it does not count."""
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
    comparisons = [output.comparison for output in result.outputs.values() if output.comparison]
    wrong = [comparison for comparison in comparisons if not comparison.matches]
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
    """Return the verdict of a launch in which a fuzz case failed with `word`."""
    return Verdict.NOT_CHECKED if word == DOES_NOT_COMPILE else Verdict(word)


def finding_of_case(result: CaseResult, word: str, changed: str, case: dict[str, Any]) -> Finding:
    """Return the finding of a failed case; `changed` describes its changes."""
    finding = next(
        (each for each in result.findings if evident_kind(each.kind, each.access) == word), None
    )
    if finding is not None:
        return replace(finding, message=f"With {changed}: {finding.message}", case=case)
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
        return "the outputs do not match the reference."
    first = comparison.first_mismatch
    many = f"{comparison.mismatched} of {comparison.compared} compared elements do not match"
    if first is None:
        return f"{name} does not match the reference: {many}."
    place = f"{name}[{', '.join(map(str, first.index))}]"
    if comparison.unwritten:
        return f"{place} was not written and should be {first.expected}; {many}."
    return f"{place} is {first.actual} and should be {first.expected}; {many}."

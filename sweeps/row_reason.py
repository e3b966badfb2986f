"""Why a launch of a sweep has the verdict that it has: one line, for the row of its variant.

The launch itself has all of it: every finding, every output.
"""

from collections.abc import Sequence
from math import prod
from typing import Final

from compiler.diagnostic import clipped
from launch.messages import Finding
from launch.request.launch_record import CaseResult, Launch, Output
from launch.request.verdict import Verdict

MAX_REASON_CHARS: Final = 300


def verdict_reason(launch: Launch) -> str | None:
    """Return what speaks against the first run with the launch's verdict; None: nothing does."""
    if launch.verdict is None or launch.verdict is Verdict.PASSED:
        return None
    if launch.cases is None:
        reason = _why(launch.verdict, launch.findings or (), launch.outputs or {})
    else:
        reason = _of_cases(launch.verdict, launch.cases)
    return None if reason is None else clipped(" ".join(reason.split()), MAX_REASON_CHARS)


def _of_cases(verdict: Verdict, cases: Sequence[CaseResult]) -> str | None:
    for case in cases:
        if case.verdict is verdict and (why := _why(verdict, case.findings, case.outputs)):
            return f"case {_name(case)}: {why}"
    for case in cases:
        if case.problem is not None:
            return f"case {_name(case)} did not run: {case.problem.detail}"
    return None


def _name(case: CaseResult) -> str:
    return str(case.index) if case.name is None else case.name


def _why(verdict: Verdict, findings: Sequence[Finding], outputs: dict[str, Output]) -> str | None:
    named = [finding for finding in findings if finding.kind == verdict]
    if named:
        return _finding_text(named[0])
    differing = (_difference(name, output) for name, output in outputs.items())
    if verdict is Verdict.MISMATCH and (text := next(filter(None, differing), None)):
        return text
    return _finding_text(findings[0]) if findings else None


def _finding_text(finding: Finding) -> str:
    if finding.line is None:
        return finding.message
    return f"{finding.file or ''}:{finding.line}: {finding.message}".removeprefix(":")


def _difference(name: str, output: Output) -> str | None:
    compared = output.comparison
    if compared is None or compared.matches:
        return None
    total = prod(output.summary.shape) if output.summary else compared.compared
    text = f"{name}: {compared.mismatched} of {total} elements differ"
    if (first := compared.first_mismatch) is not None:
        text += f"; first at {first.index}: {first.actual}, expected {first.expected}"
    return text

"""What the children of launches report, checked before it is believed."""

from typing import Any

from pydantic import Field

from compiler.compilation import Diagnostic
from compiler.launch.launch import Comparison, Finding, Summary
from worker.report import Report

MAX_FINDINGS = 1000


class LaunchFailure(Report):
    """How a child of a launch failed by its own account."""

    slug: str
    message: str
    diagnostics: list[Diagnostic] = Field(max_length=MAX_FINDINGS)


class Modified(Report):
    """An argument that is no output, and was changed."""

    argument: str
    elements: int
    first_index: list[int]


class InterpretReport(Report):
    """Of a child that ran the kernel on the interpreter, beside user code."""

    findings: list[Finding] = Field(max_length=MAX_FINDINGS)
    modified: list[Modified]
    deterministic: bool | None


class ExpectedOutput(Report):
    """What a reference returned for one output: NumPy's dtype name, and the shape."""

    dtype: str
    shape: list[int]


class ReferenceReport(Report):
    """Of a child that ran the user's reference."""

    outputs: dict[str, ExpectedOutput]


class ComparedOutput(Report):
    """One output in numbers, and against what was expected."""

    summary: Summary
    comparison: Comparison | None
    values: Any = None


class CompareReport(Report):
    """Of the child that compared; it ran no user code."""

    outputs: dict[str, ComparedOutput]

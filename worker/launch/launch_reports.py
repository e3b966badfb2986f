"""Validates the reports of the children of launches.

A child that ran user code may send anything. A valid report may still be a lie about its own kernel
or reference, but it is complete, bounded in size, and safe to read. The members are those of
`launch.messages`; this module adds only their limits.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from launch.messages import (
    MARK_OUTPUT,
    Cause,
    CauseKind,
    CausesReport,
    ExpectedOutput,
    Finding,
    ModifiedInput,
    ReferenceReport,
    RunReport,
)
from launch.request.launch_record import Comparison, Summary
from worker.compile.message_limits import MessageLimits
from worker.compile.reports import Diagnostics, FromObject, Message, Report

MAX_FINDINGS = 64
MAX_CAUSES = 64
_MAX_ARGUMENTS = 256
_Integer = Annotated[int, Field(ge=-(2**63), lt=2**63)]
_Indices = Annotated[list[_Integer], Field(max_length=8)]
_Name = Annotated[str, Field(max_length=1024)]
_Scale = Annotated[float, Field(ge=0, le=1e308, allow_inf_nan=False)]
_LIMITS = MessageLimits(
    {
        str: _Name,
        str | None: _Name | None,
        int: _Integer,
        int | None: _Integer | None,
        list[int]: _Indices,
        list[int] | None: _Indices | None,
    }
)


class LaunchFailure(Report):
    """A failure that a child of a launch reports itself."""

    slug: Literal[
        "unknown_kernel",
        "missing_constexpr",
        "missing_type",
        "extra_argument",
        "missing_module",
        "compile_error",
        "check_timeout",
        "compiler_crashed",
        "memory_exceeded",
        "invalid_argument",
        "invalid_descriptor",
        "invalid_reference",
        "needs_gpu",
        "needs_torch",
        "out_of_resources",
        "sandbox_violation",
        "syntax_error",
    ]
    message: Message
    diagnostics: Diagnostics


def _bounded_list(item: Any, most: int) -> Any:
    return Annotated[list[item], Field(max_length=most)]


def _bounded_dict(item: Any, most: int) -> Any:
    return Annotated[dict[_Name, item], Field(max_length=most)]


_UNREPORTED = ("diagnostics", "measure", "seeds", "case")
"""Members of a finding that only the worker sets."""


def _finding(**limits: Any) -> Any:
    """Return the type of a child's finding; `limits` are as for `MessageLimits.reader`."""
    unreported = dict.fromkeys(_UNREPORTED)
    return _LIMITS.within(Finding, may_lack=_UNREPORTED, message=Message, **unreported, **limits)


TensorFinding: Any = _finding(index=Annotated[list[_Integer], Field(max_length=64)] | None)
"""The type of a program's finding: a torch tensor may have 64 axes."""
_Cause: Any = _LIMITS.within(
    Cause,
    kind=Annotated[CauseKind, Field(strict=False)],
    bits=Annotated[int, Field(ge=0, le=64)],
)
_Causes: Any = _bounded_list(_Cause, MAX_CAUSES)
read_causes_report = _LIMITS.reader(CausesReport, causes=_Causes)
read_run_report = _LIMITS.reader(
    RunReport,
    may_lack=["finished", "causes"],
    causes=_Causes,
    findings=_bounded_list(_finding(), MAX_FINDINGS),
    modified=_bounded_list(_LIMITS.within(ModifiedInput), _MAX_ARGUMENTS),
)
read_reference_report = _LIMITS.reader(
    ReferenceReport,
    outputs=_bounded_dict(
        _LIMITS.within(ExpectedOutput, may_lack=["unchanged", "scale"], scale=_Scale | None),
        _MAX_ARGUMENTS,
    ),
)

_FINDINGS = TypeAdapter(list[Finding])


def read_findings(reported: list[dict[str, Any]]) -> list[Finding]:
    """Return the findings of a launcher or a tool, which run no user Python.

    Raises ValidationError.
    """
    return _FINDINGS.validate_python(reported)


def finding_of(modified: ModifiedInput) -> Finding:
    """Return the finding of a changed input."""
    count = "1 element" if modified.elements == 1 else f"{modified.elements} elements"
    message = (
        f"The kernel changed {count} of {modified.argument}, which is not an output; the first is "
        f"at {modified.first_index}. Mark it as an output if that is intended. {MARK_OUTPUT}"
    )
    return Finding(
        kind="input_modified",
        access="write",
        argument=modified.argument,
        index=modified.first_index,
        message=message,
    )


class ComparedOutput(Report):
    """Summary and comparison of one output."""

    summary: Summary | None
    comparison: Comparison | None
    values: Any = None
    expected: Any = None
    downgrade: Annotated[Finding, FromObject()] | None = None
    expects_only_nan: bool = False


class CompareReport(Report):
    """The report of the comparing child, which ran no user code."""

    outputs: dict[str, ComparedOutput]

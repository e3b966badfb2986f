"""Validates the reports of the children of launches.

A child that ran user code may send anything. A valid report may still be a lie about its own kernel
or reference, but it is complete, bounded in size, and safe to read. The members are those of
`launch.messages`; this module adds only their limits.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

from pydantic import AfterValidator, Field, TypeAdapter, create_model

from launch import messages
from launch.messages import Finding, ModifiedInput
from launch.request.launch_record import Comparison, Summary
from worker.compile.reports import Diagnostics, FromObject, Message, Report, read_report

MAX_FINDINGS = 64
_MAX_ARGUMENTS = 256
_Integer = Annotated[int, Field(ge=-(2**63), lt=2**63)]
_Indices = Annotated[list[_Integer], Field(max_length=8)]
_Name = Annotated[str, Field(max_length=1024)]
_Scale = Annotated[float, Field(ge=0, le=1e308, allow_inf_nan=False)]
_BOUNDS: dict[Any, Any] = {
    str: _Name,
    str | None: _Name | None,
    int: _Integer,
    int | None: _Integer | None,
    list[int]: _Indices,
    list[int] | None: _Indices | None,
}
"""The default limits of a text, a number and a list of numbers."""

_Record = TypeVar("_Record")


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


def _bounded(kind: type[_Record], **bounds: Any) -> type[Report]:
    """Return the model that reads records of `kind` strictly: complete and within their bounds.

    `bounds` are the types, or type and default, of members without an entry in `_BOUNDS`.
    """
    members: dict[str, Any] = {}
    for name, hint in get_type_hints(kind).items():
        bound = bounds.get(name, _BOUNDS.get(hint, hint))
        members[name] = bound if isinstance(bound, tuple) else (bound, ...)
    return create_model(f"Bounded{kind.__name__}", __base__=Report, **members)


def _record_of(kind: type[_Record]) -> Callable[[Report], _Record]:
    """Return the function that converts a validated model to a record."""
    names = [item.name for item in fields(kind)]  # type: ignore[arg-type]
    return lambda read: kind(**{name: getattr(read, name) for name in names})


def _within(kind: type[_Record], **bounds: Any) -> Any:
    """Return the type of a member that holds records of `kind`."""
    return Annotated[_bounded(kind, **bounds), AfterValidator(_record_of(kind))]


def _bounded_list(item: Any, most: int) -> Any:
    return Annotated[list[item], Field(max_length=most)]


def _bounded_dict(item: Any, most: int) -> Any:
    return Annotated[dict[_Name, item], Field(max_length=most)]


def _finding(**more: Any) -> Any:
    """Return the type of a finding; `more` are bounds, as for `_bounded`."""
    unsaid = dict.fromkeys(("diagnostics", "measure", "seeds", "case"), (None, None))
    return _within(Finding, message=Message, **unsaid, **more)


TensorFinding: Any = _finding(index=Annotated[list[_Integer], Field(max_length=64)] | None)
"""The type of a program's finding: a torch tensor may have 64 axes."""

_MODELS: dict[type, type[Report]] = {
    messages.RunReport: _bounded(
        messages.RunReport,
        findings=_bounded_list(_finding(), MAX_FINDINGS),
        modified=_bounded_list(_within(ModifiedInput), _MAX_ARGUMENTS),
        finished=(bool, True),
    ),
    messages.ReferenceReport: _bounded(
        messages.ReferenceReport,
        outputs=_bounded_dict(
            _within(messages.ExpectedOutput, unchanged=(bool, False), scale=(_Scale | None, None)),
            _MAX_ARGUMENTS,
        ),
    ),
}
"""The reader of each report of a child that ran user code."""


def read_message(kind: type[_Record], header: dict[str, Any]) -> _Record:
    """Return the report of a child that ran user code. Raises Malformed."""
    return _record_of(kind)(read_report(_MODELS[kind], header))


_FINDINGS = TypeAdapter(list[Finding])


def read_findings(reported: list[dict[str, Any]]) -> list[Finding]:
    """Return the findings of a launcher or a tool, which run no user Python.

    Raises ValidationError.
    """
    return _FINDINGS.validate_python(reported)


def finding_of(modified: ModifiedInput) -> Finding:
    """Return the finding of a changed input."""
    message = (
        f"The kernel changed {modified.elements} elements of {modified.argument}, which is not an "
        f"output; the first is at {modified.first_index}. Mark it as an output if that is intended."
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


class CompareReport(Report):
    """The report of the comparing child, which ran no user code."""

    outputs: dict[str, ComparedOutput]

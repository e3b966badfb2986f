"""What the children of launches report, checked before it is believed.

A child that ran user code can say anything: what fits these shapes may still be a lie about its own
kernel or reference, but it is of a bounded size, complete, and cannot break who reads it.
"""

from math import prod
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BeforeValidator, Field, TypeAdapter, create_model

from launch.messages import Finding
from launch.request.launch_record import Comparison, Summary
from worker.compile.reports import Diagnostics, Message, Report

MAX_FINDINGS = 64

_ITEM_BYTES = {
    "bool": 1,
    **{f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": bits // 8 for bits in (16, 32, 64)},
}
_Integer = Annotated[int, Field(ge=-(2**63), lt=2**63)]
_Indices = Annotated[list[_Integer], Field(max_length=8)]
_Name = Annotated[str, Field(max_length=1024)]


class LaunchFailure(Report):
    """How a child of a launch failed by its own account."""

    slug: Literal[
        "unknown_kernel",
        "missing_constexpr",
        "extra_argument",
        "slice_incomplete",
        "compile_error",
        "compiler_crashed",
        "memory_exceeded",
        "invalid_argument",
        "invalid_descriptor",
        "invalid_reference",
        "needs_gpu",
        "needs_torch",
        "sandbox_violation",
        "syntax_error",
    ]
    message: Message
    diagnostics: Diagnostics


_BOUNDS: dict[Any, Any] = {
    str: _Name,
    str | None: _Name | None,
    int | None: _Integer | None,
    list[int] | None: _Indices | None,
}
"""What a text, a number and a list of numbers of a child may be at most."""


def _bounded_finding() -> type[Report]:
    """Return what reads a finding strictly: every member is there, and none beyond its bound."""
    members: dict[str, Any] = {
        name: (_BOUNDS.get(kind, kind), ...) for name, kind in get_type_hints(Finding).items()
    }
    return create_model("BoundedFinding", __base__=Report, **members | {"message": (Message, ...)})


_BOUNDED_FINDING = _bounded_finding()
_FINDINGS = TypeAdapter(list[Finding])


def _found(said: Any) -> Finding:
    return Finding(**_BOUNDED_FINDING.model_validate(said).model_dump())


ChildFinding = Annotated[Finding, BeforeValidator(_found)]
"""A finding that a child of user code reports."""


def read_findings(said: list[dict[str, Any]]) -> list[Finding]:
    """Return the findings of a launcher or a tool, which run no user Python.

    Raises ValidationError.
    """
    return _FINDINGS.validate_python(said)


class Modified(Report):
    """An argument that is no output, and was changed."""

    argument: _Name
    elements: _Integer
    first_index: _Indices

    def as_finding(self) -> Finding:
        """Return the finding of it."""
        message = (
            f"{self.argument} is no output, but {self.elements} of its elements were changed, "
            f"the first at {self.first_index}. Mark it as an output if that is meant."
        )
        return Finding(
            kind="input_modified",
            access="write",
            argument=self.argument,
            index=self.first_index,
            message=message,
        )


class InterpretReport(Report):
    """Of a child that ran the kernel on the interpreter, beside user code."""

    findings: list[ChildFinding] = Field(max_length=MAX_FINDINGS)
    modified: list[Modified] = Field(max_length=256)
    deterministic: bool | None


class ExpectedOutput(Report):
    """What a reference returned for one output: NumPy's dtype name, and the shape."""

    dtype: Literal[
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "float32", "float64",
    ]  # fmt: skip
    shape: _Indices
    unchanged: bool = False
    """It is an output in place, and each element is to be what it was before."""

    @property
    def size_bytes(self) -> int:
        """What its elements take."""
        return prod(self.shape) * _ITEM_BYTES[self.dtype]


class ReferenceReport(Report):
    """Of a child that ran the user's reference."""

    outputs: dict[_Name, ExpectedOutput] = Field(max_length=256)


class ComparedOutput(Report):
    """One output in numbers, and against what was expected."""

    summary: Summary
    comparison: Comparison | None
    values: Any = None


class CompareReport(Report):
    """Of the child that compared; it ran no user code."""

    outputs: dict[str, ComparedOutput]

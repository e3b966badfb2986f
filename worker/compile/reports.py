"""Validates the reports of children: a child that ran user code can send anything.

A valid report may still lie about its own source, but its size is bounded: long messages are
clipped, and anything else that is too large is refused.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import core_schema

from compiler.diagnostic import MESSAGE_CHARS, Assumption, Diagnostic, clipped
from compiler.inspection import InspectedKernel
from compiler.json_number import MAX_EXACT
from compiler.languages import PythonLanguage
from compiler.messages import reports as messages
from compiler.request.compile_request import MAX_FILES, MAX_MODULE_CHARS
from compiler.type_name import is_parameter_type
from worker.pool.child_protocol import MAX_MS

OPTION_ASKED = "option_asked"
"""The slug of a front child that needs all options; the compilation does not fail by it."""
MAX_VALUE_BYTES = 128 << 10
"""The limit for constexprs or metadata, as JSON."""

ModuleNames = Annotated[
    list[Annotated[str, Field(max_length=MAX_MODULE_CHARS)]], Field(max_length=MAX_FILES)
]

# Bounds on the diagnostics and assumptions of children that a record keeps.
#
# Pure; used where a child's report is checked, and where those of several are put together.

_MAX_DIAGNOSTICS = 50
_HINT_CHARS = 1000
_EXCERPT_CHARS = 2000
_FILE_CHARS = 300
_MAX_ASSUMPTION_FILE_CHARS = 4096
_DIAGNOSTICS_CHARS = 64 << 10
"""The limit for all texts of all diagnostics of one record."""
_MAX_LINE = 1 << 31


def kept_diagnostics(reported: Sequence[Diagnostic], children: int = 1) -> list[Diagnostic]:
    """Return the first of `reported`, and a note if there are more than a record keeps.

    `children` is how many of them report it: each may report as much.
    """
    kept: list[Diagnostic] = []
    left_chars = _DIAGNOSTICS_CHARS * children
    for item in map(_clipped_diagnostic, reported[: _MAX_DIAGNOSTICS * children]):
        left_chars -= sum(
            map(len, filter(None, (item.message, item.hint, item.file, item.excerpt)))
        )
        if left_chars < 0:
            break
        kept.append(item)
    if len(kept) == len(reported):
        return kept
    message = f"{len(reported) - len(kept)} more messages were not kept."
    return [*kept, Diagnostic(severity="note", stage=reported[0].stage, message=message)]


def _bounded_assumption(assumption: Assumption) -> Assumption:
    """Return `assumption` with its message clipped.

    Raises ValueError for a file or a line that no source has.
    """
    if len(assumption.file) > _MAX_ASSUMPTION_FILE_CHARS or _place(assumption.line) is None:
        raise ValueError("an assumption is of a file and a line that a source has")
    return replace(assumption, message=clipped(assumption.message, MESSAGE_CHARS))


def _clipped_diagnostic(item: Diagnostic) -> Diagnostic:
    """Return `item` with every text clipped, and without numbers that no text has lines for."""
    return replace(
        item,
        message=clipped(item.message, MESSAGE_CHARS),
        hint=_clipped(item.hint, _HINT_CHARS),
        file=_clipped(item.file, _FILE_CHARS),
        excerpt=_clipped(item.excerpt, _EXCERPT_CHARS),
        line=_place(item.line),
        column=_place(item.column),
        end_line=_place(item.end_line),
        end_column=_place(item.end_column),
    )


def _clipped(text: str | None, most_chars: int) -> str | None:
    return None if text is None else clipped(text, most_chars)


def _place(number: int | None) -> int | None:
    return number if number is not None and 0 <= number < _MAX_LINE else None


def is_small(value: Any) -> Any:
    """Return `value`. Raises ValueError for what is much, deep, or nothing to answer with."""
    try:  # a lone surrogate cannot be encoded as UTF-8, so no answer could contain it
        size = len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
    except RecursionError:
        raise ValueError("nested too deep") from None
    if size > MAX_VALUE_BYTES:
        raise ValueError(f"{size} bytes of JSON, more than {MAX_VALUE_BYTES}")
    return value


def _message(text: str) -> str:
    text.encode()  # raises for half of a character, which no answer could be written with
    return clipped(text, MESSAGE_CHARS)


class FromObject:
    """Lets a strict report take a dataclass from a JSON object; its members are strict as ever."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        schema = handler(source)
        cast("dict[str, Any]", handler.resolve_ref_schema(schema))["strict"] = False
        return schema


Name = Annotated[str, Field(max_length=4096)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
FunctionName = Annotated[str, Field(pattern=r"^[^\W\d]\w*$", max_length=200)]  # names files, too
Count = Annotated[int, Field(ge=0, le=MAX_EXACT)]
Number = Annotated[int, Field(ge=1, le=MAX_EXACT)]
Ms = Annotated[float, Field(ge=0, le=MAX_MS)]
Timings = Annotated[dict[Annotated[str, Field(max_length=64)], Ms], Field(max_length=64)]
Message = Annotated[str, AfterValidator(_message)]
Diagnostics = Annotated[list[Annotated[Diagnostic, FromObject()]], AfterValidator(kept_diagnostics)]
Assumptions = Annotated[
    list[Annotated[Assumption, FromObject(), AfterValidator(_bounded_assumption)]],
    Field(max_length=100),
]
Values = Annotated[dict[Name, Any], AfterValidator(is_small)]


FailureSlug = Literal[
    "syntax_error",
    "unknown_kernel",
    "ambiguous_kernel",
    "missing_constexpr",
    "missing_type",
    "extra_argument",
    "missing_module",
    "compile_error",
    "compile_timeout",
    "lowering_failed",
    "assembler_failed",
    "compiler_crashed",
    "out_of_resources",
    "memory_exceeded",
    "sandbox_violation",
    "option_asked",
]
"""The failures that a task may report."""


class Malformed(Exception):
    """The report does not have the shape of one; the message names the place."""


class Report(BaseModel):
    """Base of the reports; unknown members are ignored."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)

    @classmethod
    def read(cls, header: Mapping[str, Any]) -> Self:
        """Return the report in `header`. Raises Malformed."""
        try:
            return cls.model_validate(header)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))[:MESSAGE_CHARS]  # has names of the child's
            raise Malformed(f"{where}: {first['msg']}") from None


class AskedParameter(Report, messages.AskedParameter):
    """Triton's view of one parameter."""


class ParameterFacts(AskedParameter):
    """Facts about one parameter from the source."""

    line: int
    column: int
    set_by: Literal["heuristics", "autotune", "perhaps_autotune"] | None
    example: dict[str, Any] | None


class KernelFacts(Report):
    """Facts about one jit function from the source; without `sure` they are only likely."""

    name: str
    line: int
    certain: bool = True
    """True if the text alone decides which definition of that name is the kernel."""
    parameters: list[ParameterFacts]
    sure: bool
    language: PythonLanguage = "triton"
    """The language that the function is written in, as far as the text shows."""


class Facts(Report):
    """Facts from the source."""

    kernels: list[KernelFacts]


class ReadReport(Report):
    """The report of a child that parsed a source and ran none of it.

    `kernel` is null if only execution can decide which one it is.
    """

    kernel: Name | None
    facts: Facts
    ms: Ms


class InspectedFacts(Report):
    """Facts about all kernels of a source, and about those that are written for its helpers."""

    kernels: list[InspectedKernel]
    written: list[InspectedKernel] = Field(default_factory=list, max_length=messages.MAX_WRITTEN)
    launches: bool
    """True if running the source as a script may launch a kernel."""


class InspectReport(Report):
    """The report of a child that only inspected a source."""

    facts: InspectedFacts


class ParametersReport(Report, messages.ParametersReport):
    """The report of a front child that read the parameters of a kernel's function."""

    parameters: Sequence[AskedParameter]


class Metadata(Report):
    """Results of the back end under Triton's names; null if no stage reported one."""

    name: Name | None
    num_warps: Number | None
    num_ctas: Number | None = None
    shared: Count | None
    tmem_size: Count | None = None
    global_scratch_size: Count | None = None
    global_scratch_align: Count | None = None
    profile_scratch_size: Count | None = None
    profile_scratch_align: Count | None = None
    tensordesc_meta: Annotated[list[Any] | None, AfterValidator(is_small)] = None
    launch_cooperative_grid: bool | None = None
    launch_pdl: bool | None = None
    parameter_sizes_bytes: Annotated[list[Count] | None, Field(max_length=4096)] = None

    @model_validator(mode="after")
    def _has_warps(self) -> Self:
        if self.shared is not None and self.num_warps is None:
            raise ValueError("num_warps is not known, but `shared` is")
        return self


class Lowered(Report):
    """Facts about a kernel at one stage."""

    metadata: Metadata
    resources: Annotated[dict[Name, Count], Field(max_length=32)] | None


class BackReport(Report):
    """The report of a back child, which ran no user code; `facts` are by stage."""

    facts: Annotated[dict[Name, Lowered], Field(max_length=16)]
    timings_ms: Timings
    warnings: Diagnostics = []
    """LLVM's warnings, which the worker reads from the child's log."""

    def with_warnings(self, warnings: list[Diagnostic]) -> Self:
        """Return the report with these warnings."""
        return type(self).model_validate({**dict(self), "warnings": warnings})


def _parameter_type(name: str) -> str:
    if not is_parameter_type(name):
        raise ValueError("the type of no parameter")
    return name


class PostedParameter(Report):
    """One parameter of the kernel of posted IR."""

    name: Name
    type: Annotated[str, AfterValidator(_parameter_type)]
    hints: list[Annotated[str, Field(max_length=64)]] = Field(max_length=16)


class PostedReport(BackReport):
    """The report of a back child for posted IR."""

    kernel: Name
    parameters: list[PostedParameter] = Field(max_length=4096)
    notes: Diagnostics


class FailureReport(Report):
    """A failure that the task itself reports; it must not claim what only others can know."""

    slug: FailureSlug
    stage: Annotated[str, Field(max_length=64)] | None
    message: Message
    reason: Literal["static_assert"] | None = None
    diagnostics: Diagnostics
    needs: ModuleNames = Field(default_factory=list)
    """The modules that the source imports and that the caller may have."""


class DerivationFailureReport(Report):
    """The failure of a task that derives something from a compilation."""

    slug: FailureSlug | Literal["not_derivable"]
    message: Message

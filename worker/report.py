"""What children report, checked before it is believed: a child that ran user code can say anything.

What does not fit these shapes is no result. What fits may still be a lie about its own source.
"""

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from compiler.compilation import Diagnostic
from compiler.target import BINARY_STAGES, MEDIA_TYPES
from worker.outcome import Outcome

STAGES_OF_TASK = {
    "cut": frozenset[str](),
    "front": frozenset({"source", "ttir"}),
    "back": frozenset({"ttgir", "llir", "ptx", "cubin", "amdgcn", "hsaco"}),
    "posted": frozenset(MEDIA_TYPES),
}
OPTION_ASKED = "option_asked"
"""The slug of a front child that must be told all options; no failure of the compilation."""
Timings = dict[str, float]


class Malformed(Exception):
    """The report does not have the shape of one; the message says where."""


class Report(BaseModel):
    """Base of the reports; unknown members are ignored."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)


class ParameterFacts(Report):
    """What the source says of one parameter."""

    name: str
    annotation: str | None
    constexpr: bool
    const: bool
    default: dict[str, Any] | None
    do_not_specialize: bool
    do_not_specialize_on_alignment: bool


class KernelFacts(Report):
    """What the source says of one jit function."""

    name: str
    line: int
    parameters: list[ParameterFacts]


class Facts(Report):
    """What the source says."""

    kernels: list[KernelFacts]


class CutReport(Report):
    """Of a cut child, which ran no user code; `kernel` is null where only running can tell."""

    kernel: str | None
    slice: str
    files: dict[str, str]
    complete: bool
    facts: Facts
    notes: list[Diagnostic]
    ms: float


class Locations(Report):
    """Of all block arguments: texts, and for each block which of them."""

    table: list[str]
    blocks: list[list[int]]


class FrontReport(Report):
    """Of a front child, which ran user code. `language` is what the back end begins with."""

    kernel: str
    language: Literal["ttir", "glir"]
    locations: Locations
    constexprs: dict[str, Any]
    notes: list[Diagnostic] = Field(max_length=1000)
    timings_ms: Timings


class Lowered(Report):
    """What is known of a kernel at one stage."""

    metadata: dict[str, Any]
    resources: dict[str, int] | None


class BackReport(Report):
    """Of a back child, which ran no user code; `facts` by stage, that it began with included."""

    facts: dict[str, Lowered]
    timings_ms: Timings


class PostedParameter(Report):
    """One parameter of the kernel of posted IR."""

    name: str
    type: str
    hints: list[str]


class PostedReport(BackReport):
    """Of a back child that was given posted IR."""

    kernel: str
    parameters: list[PostedParameter]
    notes: list[Diagnostic]


class FailureReport(Report):
    """How a task failed by its own account; what only others can know it must not say."""

    slug: Literal[
        "syntax_error",
        "unknown_kernel",
        "ambiguous_kernel",
        "missing_constexpr",
        "extra_argument",
        "slice_incomplete",
        "compile_error",
        "lowering_failed",
        "assembler_failed",
        "compiler_crashed",
        "out_of_resources",
        "memory_exceeded",
        "sandbox_violation",
        "option_asked",
    ]
    stage: str | None
    message: str
    diagnostics: list[Diagnostic] = Field(max_length=1000)


_Report = TypeVar("_Report", bound=Report)


def read_report(model: type[_Report], header: dict[str, Any]) -> _Report:
    """Return `header` as `model`. Raises Malformed."""
    try:
        return model.model_validate(header)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise Malformed(f"{where}: {first['msg']}") from None


def read_stages(task: str, outcome: Outcome) -> dict[str, bytes]:
    """Return the stages of `outcome` that `task` can make. Raises Malformed for any other."""
    stages: dict[str, bytes] = {}
    for stage in outcome.stages:
        if stage.name not in STAGES_OF_TASK[task]:
            raise Malformed(f"a {task} child does not make the stage {stage.name!r}")
        if stage.name not in BINARY_STAGES and not _is_text(stage.body):
            raise Malformed(f"the stage {stage.name} is not UTF-8 text")
        stages[stage.name] = stage.body
    return stages


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True

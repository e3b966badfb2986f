"""The compilation resource: the record that is stored under its key and answered over HTTP.

Only data, and the record with nothing made yet that every state starts from. Who makes it and how
it is kept is not known here.
"""

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from compiler.abi import Abi
from compiler.diagnostic import Assumption, Diagnostic
from compiler.job import CompileJob
from compiler.problem import Problem, failure_problem
from compiler.toolchain import Toolchain

State = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class Record(BaseModel):
    """Base of the parts below: frozen, every field always present in the JSON."""

    model_config = ConfigDict(frozen=True)


_Model = TypeVar("_Model", bound=BaseModel)


def amended(record: _Model, **changes: Any) -> _Model:
    """Return a copy of `record` with other values of some fields, all of them validated.

    Raises TypeError for a field that there is not, ValidationError for a value that does not fit.
    """
    fields = type(record).model_fields
    if unknown := changes.keys() - fields.keys():
        raise TypeError(f"{type(record).__name__} has no {', '.join(sorted(unknown))}")
    values = {name: getattr(record, name) for name in record.model_fields_set} | changes
    named = {fields[name].alias or name: value for name, value in values.items()}
    return type(record).model_validate(named)


class ToolchainUsed(Record):
    """The toolchain that made a compilation."""

    id: str
    triton: str
    ptxas: str
    sandbox: str


class Artifact(Record):
    """The bytes of one stage, by digest."""

    digest: str
    size_bytes: int
    media_type: str
    url: str


class Parameter(Record):
    """One parameter of the kernel with its specialization."""

    name: str
    type: Any = Field(description="Triton type, a list for a tuple, null for a constexpr")
    role: Literal["runtime", "constexpr", "specialized"]
    hints: list[str]
    value: Any


class Occupancy(Record):
    """Theoretical occupancy of one multiprocessor."""

    blocks_per_sm: int
    warps_per_sm: int
    ratio: float
    limited_by: str
    waves_per_simd: float | None = Field(
        default=None, description="hip: resident waves of one SIMD"
    )


class Resources(Record):
    """The resources of the built kernel, from the assembler's own report."""

    backend: str
    registers: int | None
    spill_store_bytes: int | None
    spill_load_bytes: int | None
    stack_bytes: int | None
    shared_bytes: int | None
    shared_limit_bytes: int | None = Field(default=None, description="the most a block may have")
    threads: int | None = Field(default=None, description="of a block")
    tmem_columns: int | None = Field(default=None, description="cuda: columns of tensor memory")
    vgpr: int | None = Field(default=None, description="hip: vector registers of a work-item")
    sgpr: int | None = Field(default=None, description="hip: scalar registers of a wavefront")
    agpr: int | None = Field(default=None, description="hip: accumulation registers")
    vgpr_spills: int | None = Field(default=None, description="hip: registers, not bytes")
    sgpr_spills: int | None = None
    occupancy: Occupancy | None
    fits: bool | None


class AssumedValue(Record):
    """A type with the suffix of its hint, such as `i32:16`, or a value: of a request without it.

    `line` is the one that implies it, null for a default of the kernel.
    """

    parameter: str
    value: Any
    why: str = Field(max_length=1000)
    line: int | None = None


class Compilation(Record):
    """All of a compilation but what belongs to one request (`cache`, `included`, position)."""

    key: str
    url: str
    state: State
    kernel: str | None
    target: str
    stop_after: str
    options: dict[str, Any]
    toolchain: ToolchainUsed
    artifacts: dict[str, Artifact]
    parameters: list[Parameter]
    abi: Abi | None
    metadata: dict[str, Any] | None
    resources: Resources | None
    timings_ms: dict[str, float] | None
    diagnostics: list[Diagnostic]
    complete: bool = Field(
        default=True,
        description="whether all that can matter was executed as Python does: nothing was assumed",
    )
    assumptions: list[Assumption] = Field(
        default_factory=list, description="what had to be assumed; each is a warning, too"
    )
    assumed: list[AssumedValue] = Field(
        default_factory=list,
        description="each value that the request did not give: the kernel's defaults",
    )
    stdout: str
    needs: list[str] = Field(
        default_factory=list,
        description="the modules to post in `files`: those that the kernel lacks "
        "(`missing_module`), or without which its decorators were left out, or its functions "
        "taken from Triton",
    )
    problem: Problem | None


class CompilationAnswer(Compilation):
    """A compilation in one request's answer."""

    cache: Literal["hit", "miss", "join"] | None = None
    queue_position: int | None = None
    included: dict[str, str] = Field(default_factory=dict)


def compilation_url(key: str) -> str:
    """Return the path of a compilation."""
    return f"/v1/compilations/{key}"


def new_compilation(job: CompileJob, toolchain: Toolchain | None, state: State) -> Compilation:
    """Return the compilation of `job` in `state`; `toolchain` is None where it is not known yet."""
    used = ToolchainUsed(
        id=job.toolchain_id,
        triton=toolchain.triton if toolchain else "",
        ptxas=toolchain.ptxas if toolchain else "",
        sandbox=toolchain.sandbox if toolchain else "",
    )
    return Compilation(
        key=job.key,
        url=compilation_url(job.key),
        state=state,
        kernel=job.kernel,
        target=job.target_name,
        stop_after=job.stop_after,
        options=job.options,
        toolchain=used,
        artifacts={},
        parameters=[],
        abi=None,
        metadata=None,
        resources=None,
        timings_ms=None,
        diagnostics=[],
        stdout="",
        problem=None,
    )


def cancelled_compilation(job: CompileJob, toolchain: Toolchain | None) -> Compilation:
    """Return what GET answers for ten minutes after the last interest in `job` was withdrawn."""
    problem = failure_problem("cancelled", "All callers that asked for this compilation withdrew.")
    return amended(new_compilation(job, toolchain, "cancelled"), problem=problem)

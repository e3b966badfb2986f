"""The arguments of the tools; language models see their schemas."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, WithJsonSchema

from compiler.request.compile_request import MAX_ABSENT, MAX_OPTIONS, Files, Json, Name, Text
from compiler.request.signature import MAX_PARAMETERS
from compiler.stages import ComparedStage, TextStage
from launch.request.launch_request import MAX_ARGUMENTS, MAX_CHECKS

MAX_AXES, MAX_VALUES, MAX_WHERE_CHARS = 32, 1000, 1000
_AXIS: list[JsonValue] = [{"type": "integer"}, {"type": "string"}]
_GRID: dict[str, JsonValue] = {"anyOf": [*_AXIS, {"type": "array", "items": {"anyOf": _AXIS}}]}
_Grid = Annotated[Json, WithJsonSchema(_GRID)]
"""Any JSON, which the API reads: errors of a union would name its types."""


class ToolArguments(BaseModel):
    """Base of the arguments below; it refuses unknown members."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TargetsArguments(ToolArguments):
    """None."""


class InspectArguments(ToolArguments):
    """A source."""

    source: Text = Field(min_length=1, description="Python text with @triton.jit kernels")


class SpecializationArguments(ToolArguments):
    """The choice of a kernel, and its specialization."""

    kernel: Name | None = Field(default=None, description="required if there are several")
    signature: dict[Name, Any] | None = Field(
        default=None,
        max_length=MAX_PARAMETERS,
        description='Triton types: {"x_ptr": "*fp32:16", "n": "i32"}',
    )
    constexprs: dict[Name, Any] | None = Field(
        default=None, max_length=MAX_PARAMETERS, description='{"BLOCK_SIZE": 1024}'
    )
    options: dict[Name, Any] | None = Field(
        default=None, max_length=MAX_OPTIONS, description='{"num_warps": 4}'
    )
    triton: Name | None = Field(default=None, description="a version listed by `targets`")
    files: Files | None = Field(
        default=None,
        description='modules that it imports: {"pkg/ops.py": "..."}',
    )
    module: Name | None = Field(default=None, description="the source's own: pkg.kernels")
    absent: list[Name] | None = Field(
        default=None, max_length=MAX_ABSENT, description="with `module`: modules not to ask for"
    )


class KernelArguments(SpecializationArguments):
    """A kernel with its specialization."""

    source: Text = Field(min_length=1, description="Python text with a @triton.jit kernel")


class CompileArguments(SpecializationArguments):
    """A kernel or IR, and the stages to show."""

    source: Text | None = Field(
        default=None, min_length=1, description="Python text with a @triton.jit kernel"
    )
    ir: Text | None = Field(
        default=None, min_length=1, description="TTIR or TTGIR text, instead of `source`"
    )
    target: Name = Field(default="cuda:90", description="or hip:gfx942 ...; see `targets`")
    stage: TextStage | None = Field(default=None, description="the text to show; default: none")
    first_line: int = Field(default=1, ge=1, description="first line of that text to show")


class LaunchArguments(KernelArguments):
    """A kernel, its arguments, and the expected results."""

    target: Name | None = Field(default=None, description="default: the CPU device runs it")
    arguments: dict[Name, Any] = Field(
        max_length=MAX_ARGUMENTS,
        description='{"x_ptr": "fp32[8,512]:normal(seed=1)", "out_ptr": "fp32[8,512]:output", '
        '"n": 4096}; or {"shape": [8, 512], "dtype": "fp32", "init": {"kind": "uniform"}}',
    )
    grid: _Grid = Field(description='4, [4, 2] or ["cdiv(n, BLOCK_SIZE)"]')
    reference: Text | None = Field(
        default=None,
        description="Python: def reference(x_ptr, **_): return x_ptr + 1, with NumPy as np",
    )
    rtol: float | None = None
    atol: float | None = None
    checks: list[Name] | None = Field(
        default=None,
        max_length=MAX_CHECKS,
        description='["racecheck", "fuzz"]; on the CPU, the default is racecheck',
    )
    time: bool = Field(default=False, description="measure the time; GPU only")


class ProveArguments(KernelArguments):
    """A kernel, and what every launch of it keeps."""

    target: Name | None = Field(default=None, description="default: cuda:90")
    contract: Text | None = Field(
        default=None,
        description="lines `sizes rows` (no argument's name), `x_ptr: rows * stride` (elements), "
        "`n_cols <= stride`, `values idx_ptr: 0 .. rows`, `grid: rows`; without it: a draft",
    )


class ProgramArguments(ToolArguments):
    """Host code that launches kernels, and its reference."""

    source: Text = Field(
        min_length=1, description="Python with a class ModelNew or a function custom_kernel"
    )
    reference: Text | None = Field(
        default=None,
        description="Python with Model (or ref_kernel), get_inputs and perhaps get_init_inputs",
    )
    target: Name | None = Field(default=None, description="default: the CPU device runs it")
    rtol: float | None = None
    atol: float | None = None
    time: bool = Field(default=False, description="measure both times; GPU only")


class SweepArguments(KernelArguments):
    """A kernel, and the values to try."""

    target: Name = Field(description="such as cuda:90 or hip:gfx942; see `targets`")
    space: dict[Name, Annotated[list[Any], Field(max_length=MAX_VALUES)]] = Field(
        min_length=1,
        max_length=MAX_AXES,
        description='all combined: {"BLOCK_SIZE": [256, 1024], "num_warps": [4, 8]}',
    )
    where: list[Annotated[str, Field(max_length=MAX_WHERE_CHARS)]] = Field(
        default_factory=list,
        max_length=MAX_AXES,
        description='conditions on variants: ["BLOCK_SIZE >= 32 * num_warps"]',
    )
    sort: Name = Field(
        default="spill_store_bytes,registers",
        description="columns, `-` before one for the largest first",
    )


class CompareArguments(ToolArguments):
    """Two compilations."""

    first: Name = Field(description="a key from `compile`, or its beginning")
    second: Name = Field(description="a key from `compile`, or its beginning")
    stage: ComparedStage | None = Field(
        default=None, description="the text diff to show; default: the first that differs"
    )


class ExplainArguments(ToolArguments):
    """A compilation and a line, or a launch, program or sweep."""

    key: Name = Field(
        description="key of a compilation, or id of a launch, program or sweep; or its beginning"
    )
    line: int | None = Field(default=None, ge=1, description="a line of the source to explain")
    stage: ComparedStage | None = Field(default=None, description="default: PTX or AMD assembly")

"""The arguments of the tools, whose schemas a language model is shown."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from compiler.request.compile_request import MAX_OPTIONS, Name, Text
from compiler.request.signature import MAX_PARAMETERS
from compiler.stages import CompiledTextStage
from launch.request.grid import MAX_CHARS as MAX_GRID_CHARS
from launch.request.launch_request import MAX_ARGUMENTS, MAX_CHECKS

_Formula = Annotated[str, Field(max_length=MAX_GRID_CHARS)]


class ToolArguments(BaseModel):
    """Base of the arguments below: nothing else is taken."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TargetsArguments(ToolArguments):
    """None."""


class InspectArguments(ToolArguments):
    """A source."""

    source: Text = Field(min_length=1, description="Python text with @triton.jit kernels")


class KernelArguments(ToolArguments):
    """A kernel with its specialization."""

    source: Text = Field(min_length=1, description="Python text with a @triton.jit kernel")
    kernel: Name | None = Field(default=None, description="only needed where there are several")
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
    triton: Name | None = Field(default=None, description="a version that `targets` lists")


class CompileArguments(KernelArguments):
    """A kernel, and the stages to show."""

    target: Name = Field(description="such as cuda:90 or hip:gfx942; `targets` lists them")
    stage: CompiledTextStage | None = Field(
        default=None, description="the text to show; default: none"
    )
    first_line: int = Field(default=1, ge=1, description="of that text")


class LaunchArguments(KernelArguments):
    """A kernel, what it is given, and what it has to come to."""

    target: Name | None = Field(default=None, description="default: a CPU device runs it")
    arguments: dict[Name, Any] = Field(
        max_length=MAX_ARGUMENTS,
        description='{"x_ptr": {"shape": [4096], "dtype": "fp32", "init": {"kind": "uniform", '
        '"seed": 1}}, "out_ptr": {"shape": [4096], "dtype": "fp32", "output": true}, "n": 4096}',
    )
    grid: list[int | _Formula] = Field(max_length=3, description='[4] or ["cdiv(n, BLOCK_SIZE)"]')
    reference: Text | None = Field(
        default=None,
        description="Python: def reference(x_ptr, **_): return x_ptr + 1, with NumPy as np",
    )
    rtol: float | None = None
    atol: float | None = None
    checks: list[Name] | None = Field(
        default=None, max_length=MAX_CHECKS, description='["racecheck", "fuzz"]'
    )
    time: bool = Field(default=False, description="measure, on a GPU only")


class CompareArguments(ToolArguments):
    """Two compilations."""

    first: Name = Field(description="key that `compile` answered")
    second: Name = Field(description="key that `compile` answered")
    stage: CompiledTextStage | Literal["sass"] | None = Field(
        default=None, description="whose text diff is shown; default: the first that differs"
    )


class ExplainArguments(ToolArguments):
    """A compilation and a line, or a launch."""

    key: Name = Field(description="key of a compilation, or id of a launch")
    line: int | None = Field(default=None, ge=1, description="of the source: what it became")
    stage: CompiledTextStage | None = Field(
        default=None, description="default: PTX or AMD assembly"
    )

"""The arguments of the tools, whose schemas a language model is shown."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Stage = Literal["source", "ttir", "ttgir", "llir", "ptx", "amdgcn"]


class ToolArguments(BaseModel):
    """Base of the arguments below: nothing else is taken."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TargetsArguments(ToolArguments):
    """None."""


class InspectArguments(ToolArguments):
    """A source."""

    source: str = Field(min_length=1, description="Python text with @triton.jit kernels")


class KernelArguments(ToolArguments):
    """A kernel with its specialization."""

    source: str = Field(min_length=1, description="Python text with a @triton.jit kernel")
    kernel: str | None = Field(default=None, description="only needed where there are several")
    signature: dict[str, Any] | None = Field(
        default=None, description='Triton types: {"x_ptr": "*fp32:16", "n": "i32"}'
    )
    constexprs: dict[str, Any] | None = Field(default=None, description='{"BLOCK_SIZE": 1024}')
    options: dict[str, Any] | None = Field(default=None, description='{"num_warps": 4}')
    triton: str | None = Field(default=None, description="a version that `targets` lists")


class CompileArguments(KernelArguments):
    """A kernel, and what of it to show."""

    target: str = Field(description="such as cuda:90 or hip:gfx942; `targets` lists them")
    stage: Stage | None = Field(default=None, description="the text to show; default: none")
    first_line: int = Field(default=1, ge=1, description="of that text")


class LaunchArguments(KernelArguments):
    """A kernel, what it is given, and what it has to come to."""

    target: str | None = Field(default=None, description="default: a CPU device runs it")
    arguments: dict[str, Any] = Field(
        description='{"x_ptr": {"shape": [4096], "dtype": "fp32", "init": {"kind": "uniform", '
        '"seed": 1}}, "out_ptr": {"shape": [4096], "dtype": "fp32", "output": true}, "n": 4096}'
    )
    grid: list[int | str] = Field(description='[4] or ["cdiv(n, BLOCK_SIZE)"]')
    reference: str | None = Field(
        default=None,
        description="Python: def reference(x_ptr, **_): return x_ptr + 1, with NumPy as np",
    )
    rtol: float | None = None
    atol: float | None = None
    checks: list[str] | None = Field(default=None, description='["racecheck", "fuzz"]')
    time: bool = Field(default=False, description="measure, on a GPU only")


class CompareArguments(ToolArguments):
    """Two compilations."""

    first: str = Field(description="key that `compile` answered")
    second: str = Field(description="key that `compile` answered")
    stage: Stage | Literal["sass"] | None = Field(
        default=None, description="whose text diff is shown; default: the first that differs"
    )


class ExplainArguments(ToolArguments):
    """A compilation and a line, or a launch."""

    key: str = Field(description="key of a compilation, or id of a launch")
    line: int | None = Field(default=None, ge=1, description="of the source: what it became")
    stage: Stage | None = Field(default=None, description="default: PTX or AMD assembly")

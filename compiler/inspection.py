"""An inspection: what a source says of its kernels, without compiling or executing anything.

Request, job and answer, as service and worker exchange them.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from compiler.diagnostic import Diagnostic
from compiler.key import inspection_key
from compiler.problem import Problem
from compiler.request import FILES_SCHEMA
from compiler.resolution import check_texts

EXAMPLE: dict[str, Any] = {
    "source": (
        "import triton\nimport triton.language as tl\n\n\n"
        "@triton.jit\n"
        "def fill(x_ptr, value, BLOCK_SIZE: tl.constexpr = 1024):\n"
        "    tl.store(x_ptr + tl.arange(0, BLOCK_SIZE), value)\n"
    ),
}

_FILES_OR_NULL = {"anyOf": [FILES_SCHEMA, {"type": "null"}]}


class InspectRequest(BaseModel):
    """A source, and the modules beside it."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, json_schema_extra={"examples": [EXAMPLE]}
    )

    source: str = Field(min_length=1, description="Python text")
    files: Annotated[dict[str, str] | None, WithJsonSchema(_FILES_OR_NULL)] = None


class InspectJob(BaseModel):
    """An inspection as it is queued; `key` is its id, over all that it depends on."""

    model_config = ConfigDict(frozen=True)

    key: str
    source: str
    files: dict[str, str]
    toolchain_id: str


class InspectedParameter(BaseModel):
    """What the text says of one parameter.

    `default` is null, `{"literal": value}` or `{"expression": text}`; of `tl.constexpr(4)` it is
    `{"literal": 4, "constexpr": true}`.
    """

    name: str
    annotation: str | None
    constexpr: bool
    default: dict[str, Any] | None
    do_not_specialize: bool
    do_not_specialize_on_alignment: bool
    const: bool


class InspectedKernel(BaseModel):
    """What the text says of one jit function.

    `blanked` are the lines (first, last) that compiling it would not look at; `calls` are the jit
    functions it uses; `configs` and `heuristics` are those of its decorators.
    """

    name: str
    line: int
    parameters: list[InspectedParameter]
    configs: list[dict[str, Any]]
    heuristics: list[str]
    calls: list[str]
    blanked: list[tuple[int, int]]
    gluon: bool


class Inspection(BaseModel):
    """The answer: kernels, or why there are none. A source that cannot be read is `failed`."""

    state: Literal["queued", "running", "succeeded", "failed"]
    kernels: list[InspectedKernel] = Field(default_factory=list)
    diagnostics: list[Diagnostic] = Field(default_factory=list)
    problem: Problem | None = None


def inspect_job(request: InspectRequest, toolchain_id: str, namespace: str) -> InspectJob:
    """Return the job that `request` asks for. Raises RequestRejected."""
    files = request.files or {}
    check_texts(request.source, files)
    key = inspection_key(
        namespace=namespace, source=request.source, files=files, toolchain_id=toolchain_id
    )
    return InspectJob(key=key, source=request.source, files=files, toolchain_id=toolchain_id)

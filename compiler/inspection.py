"""An inspection: the facts about a source's kernels, without compiling anything.

Its text is read; a source that launches a kernel is also run as a script, for what it passes, and
with a target one kernel's decorators are executed, as most autotuned kernels list their
configurations by code. Request, job and answer, as service and worker exchange
them.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from compiler.autotune import AutotuneReading
from compiler.compilation import AssumedValue
from compiler.diagnostic import Diagnostic
from compiler.key import inspection_key
from compiler.languages import PythonLanguage
from compiler.problem import Problem
from compiler.rejection import FieldError, RequestRejected
from compiler.request.compile_request import (
    FILES_SCHEMA,
    TARGET_SCHEMA,
    AbsentModules,
    Files,
    ModuleName,
    Text,
)
from compiler.request.resolution import check_absent, check_texts, offered_target
from compiler.specialization import SUFFIX_HINTS
from compiler.toolchain import Toolchain

EXAMPLE: dict[str, Any] = {
    "source": (
        "import triton\nimport triton.language as tl\n\n\n"
        "@triton.jit\n"
        "def fill(x_ptr, value, BLOCK_SIZE: tl.constexpr = 1024):\n"
        "    tl.store(x_ptr + tl.arange(0, BLOCK_SIZE), value)\n"
    ),
}

AUTOTUNED_EXAMPLE: dict[str, Any] = {
    "source": (
        "import triton\nimport triton.language as tl\n\n\n"
        "@triton.autotune(\n"
        "    configs=[triton.Config({'BLOCK': 64 << i}, num_warps=4) for i in range(4)],\n"
        "    key=['n'],\n"
        ")\n"
        "@triton.heuristics({'EVEN': lambda args: args['n'] % args['BLOCK'] == 0})\n"
        "@triton.jit\n"
        "def fill(x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):\n"
        "    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    tl.store(x_ptr + offsets, 1.0, mask=EVEN or offsets < n)\n"
    ),
    "target": "cuda:90",
}
"""Its configurations are made by code, so a target has it executed."""

_FILES_OR_NULL = {"anyOf": [FILES_SCHEMA, {"type": "null"}]}


class InspectRequest(BaseModel):
    """A source, and the modules that it imports."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, json_schema_extra={"examples": [EXAMPLE]}
    )

    source: Text = Field(min_length=1, description="Python text")
    files: Annotated[Files | None, WithJsonSchema(_FILES_OR_NULL)] = None
    module: ModuleName | None = Field(
        default=None, description="the source's own dotted name, as for a compilation"
    )
    absent: AbsentModules = Field(
        default_factory=list, description="with `module`: modules that the caller does not have"
    )
    kernel: str | None = Field(
        default=None, min_length=1, max_length=256, description="whose autotuner; with `target`"
    )
    target: str | None = Field(
        default=None,
        max_length=64,
        description="have the source executed in the sandbox, as a machine with this target would, "
        "and tell what the autotuner of `kernel` tries",
        json_schema_extra=TARGET_SCHEMA,
    )
    triton: str | None = Field(default=None, max_length=64, description="a version of Triton")


class InspectJob(BaseModel):
    """An inspection as it is queued; `key` is its id, over all that it depends on.

    With a `target`, the autotuner of `kernel` is read as well.
    """

    model_config = ConfigDict(frozen=True)

    key: str
    source: str
    module: str | None = None
    files: dict[str, str]
    absent: list[str] = Field(default_factory=list)
    kernel: str | None = None
    target: str | None = None
    toolchain_id: str


class Proposal(BaseModel):
    """A type for a parameter, from its use: what to write in a request unless you know better.

    `type` is one of signatures, or `constexpr`; `hints` go with it, and `assumed_hints` are those
    of them that no use implies: most launches have them. `values` are those to try for a
    constexpr, the likeliest first; without any, its default applies. `line` is the one
    that implies the type, and `reason` is how. A proposal of `low` confidence is an example.
    `passed` is true for what a launch of the source passes: it replaces a default. `dtype_of` is
    the parameter whose elements it has, as host code makes its tensor with the dtype of that one.
    """

    type: str = Field(max_length=256)
    hints: list[str] = Field(max_length=4)
    assumed_hints: list[str] = Field(default_factory=list, max_length=4)
    values: list[Any] = Field(max_length=16)
    line: int
    reason: str = Field(max_length=1000)
    confidence: Literal["high", "medium", "low"]
    passed: bool = False
    dtype_of: str | None = None


class InspectedParameter(BaseModel):
    """Facts about one parameter from the text.

    `default` is null, `{"literal": value}` or `{"expression": text}`; of `tl.constexpr(4)` it is
    `{"literal": 4, "constexpr": true}`. `proposal` is null where its use implies nothing.
    """

    name: str
    annotation: str | None
    constexpr: bool
    default: dict[str, Any] | None
    do_not_specialize: bool
    do_not_specialize_on_alignment: bool
    const: bool
    proposal: Proposal | None


class InspectedLaunch(BaseModel):
    """The first launch of a kernel when the source runs as a script, with tensors of no elements.

    `options` are Triton's that it passes, such as `num_warps`; `other_lines` are those of further
    launches. `shapes` are those of its tensors, or `[elements]` that one with gaps or other strides
    reaches; `scalars` are its numbers; `grid` is null where that cannot be computed.
    """

    file: str = Field(max_length=1024)
    line: int
    options: dict[str, int]
    other_lines: list[int] = Field(max_length=16)
    shapes: dict[str, list[int]] = Field(default_factory=dict)
    scalars: dict[str, bool | int | float] = Field(default_factory=dict)
    grid: list[int] | None = Field(default=None, max_length=3)


class InspectedKernel(BaseModel):
    """Facts about one jit function from the text.

    `calls` are the jit functions it uses; `returns` is true for a helper, which returns a value.
    `configs` and `heuristics` are those of its decorators. `launched` is true if the text launches
    it, on `launched_line` first, and `launch` is its first launch, if the source runs so far
    without torch and a GPU; otherwise `warnings` gives the cause.
    They also list parameters that lack the annotation `tl.constexpr`. `assumed` lists all that
    clients fill in for a request that gives nothing; a parameter with a usable default is not among
    them. `contract` is a draft of one for a proof: each `?` in it is to be replaced. `grid` guesses
    an expression for each axis from the kernel's masks, "" where none bounds it.
    """

    name: str
    line: int
    parameters: list[InspectedParameter]
    configs: list[dict[str, Any]]
    heuristics: list[str]
    calls: list[str]
    returns: bool = False
    gluon: bool
    """True if `language` is gluon, for clients from before there was a `language`."""
    language: PythonLanguage = "triton"
    launched: bool = False
    launched_line: int | None = None
    launch: InspectedLaunch | None = None
    assumed: list[AssumedValue] = Field(default_factory=list)
    contract: str = ""
    grid: list[Annotated[str, Field(max_length=256)]] = Field(default_factory=list, max_length=3)
    warnings: list[Annotated[str, Field(max_length=500)]] = Field(
        default_factory=list, max_length=4097
    )


def contract_draft(kernel: InspectedKernel) -> str:
    """Return a contract to complete; a `?` is what the types alone do not show.

    A kernel with one integer is taken to have it as the size of all of its buffers.
    """
    types = {item.name: item.proposal.type for item in kernel.parameters if item.proposal}
    buffers = [name for name, type_ in types.items() if type_.startswith(("*", "tensordesc"))]
    sizes = [name for name, type_ in types.items() if type_ in {"i32", "i64"}]
    blocks = [item.name for item in kernel.parameters if _has_integers(item.proposal)]
    size = sizes[0] if len(sizes) == 1 else "?"
    is_simple = len(sizes) == len(blocks) == 1
    lines = [
        "# This has to hold for every launch: the elements of each buffer, how sizes relate",
        "# (stride >= n), and the grid. docs/reference/proofs.md describes the statements.",
        "# Declare a size that is not an argument of the kernel: sizes NAME",
        *(f"{name}: {size}" for name in buffers),
        f"grid: cdiv({size}, {blocks[0]})" if is_simple else "grid: ?",
    ]
    return "\n".join(lines) + "\n"


def _has_integers(proposal: Proposal | None) -> bool:
    return (
        proposal is not None
        and proposal.type == "constexpr"
        and type(next(iter(proposal.values), None)) is int
    )


def assumed_values(kernel: InspectedKernel) -> list[AssumedValue]:
    """Return what the proposals of a kernel assume, with values as a request would write them."""
    tuned = {name for config in kernel.configs for name in config.get("constexprs") or {}}
    assumed = []
    for parameter in kernel.parameters:
        name, proposal, default = parameter.name, parameter.proposal, parameter.default
        if proposal is None:
            continue
        if proposal.type == "constexpr":
            is_open = default is None or name in tuned
            values = list(proposal.values)
        else:
            is_open = default is None or default.get("literal", "") is not None
            values = [_hinted(proposal)]
        if values and (is_open or proposal.passed):
            assumed.append(
                AssumedValue(
                    parameter=name, value=values[0], why=proposal.reason, line=proposal.line
                )
            )
    return assumed


def _hinted(proposal: Proposal) -> str:
    suffixes = [suffix for suffix, hint in SUFFIX_HINTS.items() if hint in proposal.hints]
    return ":".join([proposal.type, *suffixes[:1]])


class Inspection(BaseModel):
    """The answer: kernels, or why there are none. A source that cannot be read is `failed`.

    `autotune` is there where a target was named. For a source that defines only helpers, which
    return values, `written` has a kernel for each: `NAME_stored` loads what NAME takes and stores
    what it returns. A request may name it, although the source lacks it. `needs` are the modules to
    post in `files` for the launches in the source: it imports them, and a launch was not reached.
    """

    state: Literal["queued", "running", "succeeded", "failed"]
    kernels: list[InspectedKernel] = Field(default_factory=list)
    written: list[InspectedKernel] = Field(default_factory=list)
    autotune: AutotuneReading | None = None
    needs: list[str] = Field(default_factory=list)
    diagnostics: list[Diagnostic] = Field(default_factory=list)
    problem: Problem | None = None


def inspect_job(request: InspectRequest, toolchain: Toolchain, namespace: str) -> InspectJob:
    """Return the job that `request` asks for. Raises RequestRejected."""
    files, absent = request.files or {}, sorted(set(request.absent))
    check_absent(request.module, absent)
    check_texts(request.source, files)
    if request.kernel is not None and request.target is None:
        message = "which kernel to ask is of use with a `target` only; name one, or leave it out"
        raise RequestRejected(FieldError("/kernel", message))
    target = None
    if request.target is not None:
        target = str(offered_target(request.target, toolchain))
    key = inspection_key(
        namespace=namespace,
        source=request.source,
        module=request.module,
        files=files,
        absent=absent,
        kernel=request.kernel,
        target_name=target,
        toolchain_id=toolchain.id,
    )
    return InspectJob(
        key=key,
        source=request.source,
        module=request.module,
        files=files,
        absent=absent,
        kernel=request.kernel,
        target=target,
        toolchain_id=toolchain.id,
    )

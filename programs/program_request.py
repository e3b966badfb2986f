"""The body of POST /v1/programs: shape and types only.

Nothing here reads a source: where an entry is left out, the recorder looks for it.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from compiler.request.compile_request import MAX_TIMEOUT_S, TARGET_SCHEMA, Json
from launch.request.initializer import MAX_SEED
from launch.request.launch_request import MAX_DEADLINE_S, RepeatsRequest, RequestDevice
from launch.request.reference_request import ATOL_SCALE, AtolScale
from launch.request.request_part import ReadLater, RequestPart
from programs.posted_texts import PostedTexts, SourceText, either_text

ProgramCheck = Literal["determinism", "initcheck", "racecheck"]
EntryKind = Literal["model", "function", "script"]
MAX_CASES = 32
MAX_TRIALS = 20
CALLS_OF_A_TRIAL = 2
MAX_OUTPUTS = 64
DEFAULT_SEED = 42

_ADD_MODEL = (
    "import torch\nimport triton\nimport triton.language as tl\n\n\n"
    "@triton.jit\n"
    "def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):\n"
    "    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)\n"
    "    mask = offsets < n_elements\n"
    "    x = tl.load(x_ptr + offsets, mask=mask)\n"
    "    y = tl.load(y_ptr + offsets, mask=mask)\n"
    "    tl.store(output_ptr + offsets, x + y, mask=mask)\n\n\n"
    "class ModelNew(torch.nn.Module):\n"
    "    def forward(self, x, y):\n"
    "        output = torch.empty_like(x)\n"
    "        n_elements = output.numel()\n"
    "        grid = lambda meta: (triton.cdiv(n_elements, meta['BLOCK_SIZE']),)\n"
    "        add_kernel[grid](x, y, output, n_elements, BLOCK_SIZE=1024)\n"
    "        return output\n"
)
_REFERENCE_MODEL = (
    "import torch\n\n\n"
    "class Model(torch.nn.Module):\n"
    "    def forward(self, x, y):\n"
    "        return x + y\n\n\n"
    "def get_inputs():\n"
    "    return [torch.randn(4, 1000, device='cuda'), torch.randn(4, 1000, device='cuda')]\n\n\n"
    "def get_init_inputs():\n"
    "    return []\n"
)
EXAMPLE: dict[str, Any] = {"source": _ADD_MODEL, "reference": {"source": _REFERENCE_MODEL}}
FUNCTION_EXAMPLE: dict[str, Any] = {
    "source": _ADD_MODEL + "\n\ndef add(x, y):\n    return ModelNew()(x, y)\n",
    "entry": {"kind": "function", "name": "add"},
    "inputs": {
        "source": "import torch\n\n\ndef get_inputs():\n"
        "    return [torch.randn(3000, device='cuda'), torch.randn(3000, device='cuda')]\n"
    },
    "reference": {
        "source": "def add(x, y):\n    return x + y\n",
        "entry": {"kind": "function", "name": "add"},
    },
    "tolerance": {"rtol": 1e-5, "atol": 1e-6},
}
"""A function, and inputs that neither of the two programs says."""
WARMING_EXAMPLE: dict[str, Any] = {
    "source": _ADD_MODEL,
    "inputs": {"source": _REFERENCE_MODEL},
    "stop_after": "kernels",
    "target": "cuda:90",
}
"""What it launches is compiled, and nothing runs."""
TIMED_EXAMPLE: dict[str, Any] = EXAMPLE | {
    "device": {"target": "cuda:90"},
    "timing": {"min_repeats": 50},
}
"""On a GPU, and timed there beside its reference."""

_NULL: JsonValue = {"const": None}
_ENTRY_SCHEMA: dict[str, JsonValue] = {
    "oneOf": [
        {"properties": {"kind": {"const": "model"}, "name": _NULL, "outputs": _NULL}},
        {"properties": {"kind": {"const": "function"}, "class": _NULL, "outputs": _NULL}},
        {"properties": {"kind": {"const": "script"}, "class": _NULL, "name": _NULL}},
    ]
}
EntryName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=256)]
_Tolerance = Annotated[float, Field(ge=0, le=1e300, allow_inf_nan=False)]


class EntryRequest(RequestPart):
    """What of a program is called: a model's class, a function, or the script as a whole."""

    model_config = ConfigDict(json_schema_extra=_ENTRY_SCHEMA)

    kind: EntryKind
    class_: EntryName | None = Field(
        default=None,
        alias="class",
        description="of a model; default: ModelNew, a reference's Model",
    )
    name: EntryName | None = Field(
        default=None,
        description="of a function; default: custom_kernel, a reference's ref_kernel",
    )
    outputs: Annotated[list[EntryName], Field(min_length=1, max_length=MAX_OUTPUTS)] | None = Field(
        default=None, description="of a script: the variables that hold its results; default: all"
    )


class InputsRequest(RequestPart):
    """A function that makes the inputs, in a text that neither program sees."""

    source: SourceText = Field(description="Python text that defines the function")
    function: EntryName = Field(default="get_inputs", description="called without arguments")


_DEFAULT_TOLERANCE = (
    "default: that of the least precise floats which the reference rounds the output to on its "
    "way, or has in it; a warning says where it rounds to less than the output's type"
)


class ToleranceRequest(RequestPart):
    """How far an output may be from the reference's, as `atol + rtol * |expected|`."""

    rtol: _Tolerance | None = Field(default=None, description=_DEFAULT_TOLERANCE)
    atol: _Tolerance | None = Field(default=None, description=_DEFAULT_TOLERANCE)
    atol_scale: AtolScale | None = Field(default=None, description=ATOL_SCALE)


class ReferenceProgram(PostedTexts):
    """The program that says what is right; inputs come from it unless the request says them."""

    entry: EntryRequest | None = Field(
        default=None, description="default: the class `Model`, else the function `ref_kernel`"
    )


class ProgramCase(RequestPart):
    """One case: the programs on other inputs."""

    name: str | None = Field(default=None, max_length=256)
    inputs: InputsRequest


def _whole_schema(schema: dict[str, Any]) -> None:
    either_text(schema)
    schema["examples"] = [EXAMPLE, FUNCTION_EXAMPLE, WARMING_EXAMPLE, TIMED_EXAMPLE]


class ProgramRequest(PostedTexts):
    """A host program that launches kernels, and what it is held against."""

    model_config = ConfigDict(json_schema_extra=_whole_schema)

    entry: EntryRequest | None = Field(
        default=None, description="default: the class `ModelNew`, else the function `custom_kernel`"
    )
    inputs: InputsRequest | None = Field(
        default=None,
        description="default: `get_inputs` of the reference, without one the program's",
    )
    reference: ReferenceProgram | None = Field(
        default=None, description="what the outputs should be; without one nothing is compared"
    )
    tolerance: ToleranceRequest | None = Field(
        default=None, description="of floating-point outputs; default: per dtype, as of launches"
    )
    cases: list[ProgramCase] = Field(
        default_factory=list, max_length=MAX_CASES, description="each a run on other inputs"
    )
    trials: Annotated[int, Field(ge=1, le=MAX_TRIALS)] = Field(
        default=1,
        description="how often a program that passes is compared, each time by two calls on values "
        "of seeds of their own",
    )
    checks: Annotated[list[ProgramCheck], Field(max_length=3)] | None = Field(
        default=None,
        description="what else to look for; default on the CPU device: `racecheck`, which costs "
        "next to nothing, and `determinism` where a kernel has atomic operations. An empty list: "
        "nothing",
    )
    timing: RepeatsRequest | None = Field(
        default=None,
        description="how calls of the program and of its reference are timed, on GPUs only; there "
        "also where this is null",
    )
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = Field(
        default=DEFAULT_SEED,
        description="of torch's generators, before each program is made; values of inputs follow "
        "from it, and a program that is recorded is not told it",
    )
    device: Annotated[Json, ReadLater(lambda: RequestDevice)] = Field(
        default="auto",
        description='"auto" (a GPU that programs run on if there is one, else the CPU device), '
        '"cpu" (or "interpreter", its old name), "gpu", or {"target": ..., "model": ...}',
    )
    triton: str | None = Field(
        default=None, max_length=64, description="a Triton version that the deployment offers"
    )
    stop_after: Literal["tape", "kernels"] | None = Field(
        default=None,
        description="`tape`: record it only; `kernels`: and compile what it launches, in all "
        "variants; nothing runs then, and a reference only says what it is made and called with",
    )
    target: str | None = Field(
        default=None,
        max_length=64,
        description="what to compile for, where it stops after `kernels`; default: the "
        "toolchain's own",
        json_schema_extra=TARGET_SCHEMA,
    )
    timeout_s: Annotated[float, Field(gt=0, le=MAX_TIMEOUT_S, description="of each run")] = 60
    deadline_s: Annotated[
        float, Field(gt=0, le=MAX_DEADLINE_S, description="queue, recording, compiles and runs")
    ] = 300
    priority: Literal["interactive", "batch"] = Field(
        default="interactive", description="batch: behind everybody's interactive work"
    )


def cpu_checks(
    asked: Sequence[ProgramCheck] | None, *, has_atomics: bool = False
) -> Sequence[ProgramCheck]:
    """Return what the CPU device looks for, where nothing says what.

    That is races, and in programs with atomic operations an order of programs that decides.
    """
    if asked is not None:
        return asked
    return ("racecheck", "determinism") if has_atomics else ("racecheck",)

"""The body of POST /v1/programs: shape and types only.

Nothing here reads a source, not even as Python. If `entry` is left out, the recorder looks for it.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from compiler.job import SOURCE_PATH
from compiler.request.compile_request import (
    MAX_TEXT_CHARS,
    MAX_TIMEOUT_S,
    TARGET_SCHEMA,
    TEXTS_SCHEMA,
    Files,
    Json,
)
from launch.request.initializer import MAX_SEED
from launch.request.launch_request import MAX_DEADLINE_S, RepeatsRequest, RequestDevice
from launch.request.reference_request import ATOL_SCALE, AtolScale
from launch.request.request_part import ReadLater, RequestPart

SourceText = Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARS)]
_MODULE_PATH = {name: rule for name, rule in TEXTS_SCHEMA["propertyNames"].items() if name != "not"}
_FILES = WithJsonSchema(TEXTS_SCHEMA | {"propertyNames": _MODULE_PATH})
_TEXT: JsonValue = {"type": "string", "minLength": 1}
_BESIDE: JsonValue = {"propertyNames": {"not": {"const": SOURCE_PATH}}}
_ALONE: list[JsonValue] = [
    {"required": [SOURCE_PATH], "properties": {SOURCE_PATH: _TEXT}},
    {"minProperties": 1, "maxProperties": 1, "additionalProperties": _TEXT},
]
ProgramCheck = Literal["determinism", "initcheck", "racecheck"]
EntryKind = Literal["model", "function", "script"]
MAX_CASES = 32
MAX_TRIALS = 20
CALLS_OF_A_TRIAL = 2
MAX_OUTPUTS = 64

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
"""A function, with inputs that neither program defines."""
WARMING_EXAMPLE: dict[str, Any] = {
    "source": _ADD_MODEL,
    "inputs": {"source": _REFERENCE_MODEL},
    "stop_after": "kernels",
    "target": "cuda:90",
}
"""Compiles the kernels that the program launches, and runs nothing."""
TIMED_EXAMPLE: dict[str, Any] = EXAMPLE | {
    "device": {"target": "cuda:90"},
    "timing": {"min_repeats": 50},
}
"""Runs on a GPU, and times the program and its reference there."""

_NULL: JsonValue = {"const": None}
_ENTRY_SCHEMA: dict[str, JsonValue] = {
    "if": {"properties": {"kind": {"const": "model"}}},
    "then": {"properties": {"name": _NULL, "outputs": _NULL}},
    "else": {
        "if": {"properties": {"kind": {"const": "function"}}},
        "then": {"properties": {"class": _NULL, "outputs": _NULL}},
        "else": {"properties": {"class": _NULL, "name": _NULL}},
    },
}
EntryName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=256)]
_Tolerance = Annotated[float, Field(ge=0, le=1e300, allow_inf_nan=False)]


def either_text(schema: dict[str, Any]) -> None:
    """Let a JSON schema of `PostedTexts` accept the source as one of the files."""
    schema["required"] = [name for name in schema.get("required", ()) if name != "source"]
    schema["if"] = {"required": ["source"]}
    schema["then"] = {"properties": {"files": _BESIDE}}
    schema["else"] = {"required": ["files"], "properties": {"files": {"anyOf": _ALONE}}}


class PostedTexts(RequestPart):
    """A program's source and its other modules. Without `source`, it is one of the files."""

    model_config = ConfigDict(json_schema_extra=either_text)

    source: SourceText = Field(
        description="Python text; default: `user.py` of `files`, or their only file"
    )
    files: Annotated[Files, _FILES] = Field(
        default_factory=dict, description="other modules that the source imports, by path"
    )

    @model_validator(mode="before")
    @classmethod
    def _source_of_files(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("source") is not None:
            return data
        files = data.get("files")
        if not isinstance(files, dict) or not files:
            return data
        if SOURCE_PATH not in files and len(files) > 1:
            message = (
                "there is no `source`, and no file is called {path}: give the program's own file "
                "that name"
            )
            raise PydanticCustomError("no_source", message, {"path": SOURCE_PATH})
        own = SOURCE_PATH if SOURCE_PATH in files else next(iter(files))
        rest = {path: text for path, text in files.items() if path != own}
        return {**data, "source": files[own], "files": rest}


class EntryRequest(RequestPart):
    """The entry point of a program: a model's class, a function, or the whole script."""

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
    """A function that makes the inputs, in a source that neither program sees."""

    source: SourceText = Field(description="Python text that defines the function")
    function: EntryName = Field(default="get_inputs", description="called without arguments")


_DEFAULT_TOLERANCE = (
    "default: by the least precise dtype to which the reference rounds values on their way to the "
    "output; a warning names the line if that is less precise than the output's dtype"
)


class ToleranceRequest(RequestPart):
    """The allowed difference from the reference's output: `atol + rtol * |expected|`."""

    rtol: _Tolerance | None = Field(default=None, description=_DEFAULT_TOLERANCE)
    atol: _Tolerance | None = Field(default=None, description=_DEFAULT_TOLERANCE)
    atol_scale: AtolScale | None = Field(default=None, description=ATOL_SCALE)


class ReferenceProgram(PostedTexts):
    """The program with the expected outputs. It also makes the inputs unless the request does."""

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
    """A host program that launches kernels, and the reference that it is compared with."""

    model_config = ConfigDict(json_schema_extra=_whole_schema)

    entry: EntryRequest | None = Field(
        default=None, description="default: the class `ModelNew`, else the function `custom_kernel`"
    )
    inputs: InputsRequest | None = Field(
        default=None,
        description="default: `get_inputs` of the reference, or of the program without one",
    )
    reference: ReferenceProgram | None = Field(
        default=None, description="computes the expected outputs; without one nothing is compared"
    )
    tolerance: ToleranceRequest | None = Field(
        default=None, description="of floating-point outputs; default: per dtype, as of launches"
    )
    cases: list[ProgramCase] = Field(
        default_factory=list, max_length=MAX_CASES, description="each a run on other inputs"
    )
    trials: Annotated[int, Field(ge=1, le=MAX_TRIALS)] = Field(
        default=1,
        description="the number of comparisons of a program that passes; each makes two calls with "
        "new seeds",
    )
    checks: Annotated[list[ProgramCheck], Field(max_length=3)] | None = Field(
        default=None,
        description="additional checks; default on the CPU device: `racecheck`, which costs next "
        "to nothing, and `determinism` if a kernel has atomic operations. An empty list: no checks",
    )
    timing: RepeatsRequest | None = Field(
        default=None,
        description="settings of timing the program and its reference. Only GPUs time, and they do "
        "so also if this is null",
    )
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = Field(
        default=None,
        description="seeds torch's generators before each program is made, so it decides the "
        "values of inputs. The recorded program never sees it. Default: drawn by the service, and "
        "answered",
    )
    prepared_work: Literal["allowed", "refused"] = Field(
        default="allowed",
        description="`refused`: the flag `prepared_work`, of a program whose `__init__` does what "
        "the reference does in its call, makes it incorrect",
    )
    device: Annotated[Json, ReadLater(lambda: RequestDevice)] = Field(
        default="auto",
        description='"auto" (a GPU that programs run on if there is one, else the CPU device), '
        '"cpu" (or "interpreter", its old name), "gpu", or {"target": ..., "model": ...}',
    )
    triton: str | None = Field(
        default=None,
        max_length=64,
        description="a Triton version that the deployment offers; `3.8` means the newest 3.8.x",
    )
    stop_after: Literal["tape", "kernels"] | None = Field(
        default=None,
        description="`tape`: only record; `kernels`: also compile all variants of its kernels. "
        "Nothing runs then, and a reference only provides the arguments",
    )
    target: str | None = Field(
        default=None,
        max_length=64,
        description="the target to compile for, with `stop_after: kernels`; default: the "
        "toolchain's own",
        json_schema_extra=TARGET_SCHEMA,
    )
    timeout_s: Annotated[float, Field(gt=0, le=MAX_TIMEOUT_S, description="of each run")] = 60
    deadline_s: Annotated[
        float, Field(gt=0, le=MAX_DEADLINE_S, description="queue, recording, compiles and runs")
    ] = 300
    priority: Literal["interactive", "batch"] = Field(
        default="interactive", description="batch: after all interactive work"
    )


def cpu_checks(
    asked: Sequence[ProgramCheck] | None, *, has_atomics: bool = False
) -> Sequence[ProgramCheck]:
    """Return the checks `asked` for, else the defaults of the CPU device.

    These are races, and for kernels with atomic operations also results that depend on the order of
    program instances.
    """
    if asked is not None:
        return asked
    return ("racecheck", "determinism") if has_atomics else ("racecheck",)

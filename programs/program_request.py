"""The body of POST /v1/programs, and what its JSON alone shows to be wrong with it.

Nothing here reads a source: where an entry is left out, the recorder looks for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue, WithJsonSchema

from compiler.inspection import InspectRequest
from compiler.rejection import Fault, RequestRejected, collecting, pointer, shown
from compiler.request.compile_request import FILES_SCHEMA, MAX_TIMEOUT_S, TARGET_SCHEMA
from compiler.request.limits import RequestLimits
from compiler.request.limits import check as check_sizes
from compiler.request.resolution import check_texts
from launch.request.initializer import MAX_SEED
from launch.request.launch_request import MAX_DEADLINE_S, TimingRequest
from launch.request.request_part import RequestPart, below

ProgramCheck = Literal["determinism", "initcheck", "racecheck"]
EntryKind = Literal["model", "function", "script"]
MAX_CASES = 32
MAX_OUTPUTS = 64
DEFAULT_SEED = 42
CPU_DEVICE = "interpreter"

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

_NULL: JsonValue = {"const": None}
_ENTRY_SCHEMA: dict[str, JsonValue] = {
    "oneOf": [
        {"properties": {"kind": {"const": "model"}, "name": _NULL, "outputs": _NULL}},
        {"properties": {"kind": {"const": "function"}, "class": _NULL, "outputs": _NULL}},
        {"properties": {"kind": {"const": "script"}, "class": _NULL, "name": _NULL}},
    ]
}
_Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=256)]
_Tolerance = Annotated[float, Field(ge=0, le=1e300, allow_inf_nan=False)]
_Files = Annotated[dict[str, str], WithJsonSchema(FILES_SCHEMA)]
_Source = Annotated[str, Field(min_length=1)]


class EntryRequest(RequestPart):
    """What of a program is called: a model's class, a function, or the script as a whole."""

    model_config = ConfigDict(json_schema_extra=_ENTRY_SCHEMA)

    kind: EntryKind
    class_: _Name | None = Field(
        default=None,
        alias="class",
        description="of a model; default: ModelNew, a reference's Model",
    )
    name: _Name | None = Field(
        default=None,
        description="of a function; default: custom_kernel, a reference's ref_kernel",
    )
    outputs: Annotated[list[_Name], Field(min_length=1, max_length=MAX_OUTPUTS)] | None = Field(
        default=None, description="of a script: the variables that hold its results; default: all"
    )


class InputsRequest(RequestPart):
    """A function that makes the inputs, in a text that neither program sees."""

    source: _Source = Field(description="Python text that defines the function")
    function: _Name = Field(default="get_inputs", description="called without arguments")


class ToleranceRequest(RequestPart):
    """How far an output may be from the reference's, as `atol + rtol * |expected|`."""

    rtol: _Tolerance | None = Field(default=None, description="default: per dtype")
    atol: _Tolerance | None = Field(default=None, description="default: per dtype")


class ReferenceProgram(RequestPart):
    """The program that says what is right; inputs come from it unless the request says them."""

    source: _Source = Field(description="Python text")
    files: _Files = Field(default_factory=dict, description="further modules, by path")
    entry: EntryRequest | None = Field(
        default=None, description="default: the class `Model`, else the function `ref_kernel`"
    )


class ProgramCase(RequestPart):
    """One case: the programs on other inputs."""

    name: str | None = Field(default=None, max_length=256)
    inputs: InputsRequest


class ProgramRequest(RequestPart):
    """A host program that launches kernels, and what it is held against."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [EXAMPLE, FUNCTION_EXAMPLE, WARMING_EXAMPLE]}
    )

    source: _Source = Field(description="Python text: a model, a wrapper function, or a script")
    files: _Files = Field(
        default_factory=dict, description="further modules the source imports, by path"
    )
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
    checks: Annotated[list[ProgramCheck], Field(max_length=3)] | None = Field(
        default=None,
        description="what else to look for; default: `racecheck` on the CPU device, where it costs "
        "next to nothing. An empty list: nothing",
    )
    timing: TimingRequest | None = Field(
        default=None, description="on GPUs only, where programs do not run yet"
    )
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = Field(
        default=DEFAULT_SEED,
        description="of torch's generators, before each program is made; values of inputs follow "
        "from it, and a program that is recorded is not told it",
    )
    device: Annotated[JsonValue, WithJsonSchema({"enum": [CPU_DEVICE]})] = Field(
        default=CPU_DEVICE, description="the CPU device; programs do not run on GPUs yet"
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


def cpu_checks(request: ProgramRequest) -> Sequence[ProgramCheck]:
    """Return what the CPU device looks for: races, where the request does not say what."""
    return ("racecheck",) if request.checks is None else request.checks


def check_program(request: ProgramRequest, limits: RequestLimits) -> None:
    """Check all that can be checked without a worker. Raises RequestRejected, RequestTooLarge."""
    for text in _texts(request):
        with below(text.at):
            check_sizes(InspectRequest(source=text.source, files=text.files), limits)
    faults: list[Fault] = []
    for text in _texts(request):
        with collecting(faults), below(text.at):
            check_texts(text.source, text.files)
    faults += _device_faults(request)
    faults += _entry_faults(request.entry, "/entry")
    if request.reference is not None:
        faults += _entry_faults(request.reference.entry, "/reference/entry")
    faults += _script_faults(request)
    faults += _stop_faults(request)
    if faults:
        raise RequestRejected(*faults)


@dataclass(frozen=True, slots=True)
class _Text:
    at: str
    source: str
    files: dict[str, str]


def _texts(request: ProgramRequest) -> Iterator[_Text]:
    """Yield every text of the request, by the pointer of what holds its `source`."""
    yield _Text("", request.source, request.files)
    if request.reference is not None:
        yield _Text("/reference", request.reference.source, request.reference.files)
    if request.inputs is not None:
        yield _Text("/inputs", request.inputs.source, {})
    for index, case in enumerate(request.cases):
        yield _Text(pointer("cases", index, "inputs"), case.inputs.source, {})


def _device_faults(request: ProgramRequest) -> Iterator[Fault]:
    if request.device != CPU_DEVICE:
        message = (
            f"programs run on the CPU device only as yet, not on {shown(request.device)}; leave "
            f'`device` out, or say "{CPU_DEVICE}"'
        )
        yield Fault("/device", message)
    elif request.timing is not None:
        message = "only runs on GPUs are timed; this is the CPU device, so leave `timing` out"
        yield Fault("/timing", message)


_OF_KIND = {"class": "model", "name": "function", "outputs": "script"}


def _entry_faults(entry: EntryRequest | None, at: str) -> Iterator[Fault]:
    if entry is None:
        return
    said = {"class": entry.class_, "name": entry.name, "outputs": entry.outputs}
    for name, value in said.items():
        if value is not None and _OF_KIND[name] != entry.kind:
            yield Fault(f"{at}/{name}", f"a {entry.kind} has none; a {_OF_KIND[name]} has")


def _script_faults(request: ProgramRequest) -> Iterator[Fault]:
    """Find what asks for other inputs than those that a script makes itself."""
    reference = request.reference
    if _is_script(request.entry):
        if request.inputs is not None:
            yield Fault("/inputs", "a script makes its own; name a function or a model in `entry`")
        if request.cases:
            yield Fault("/cases", "a script runs on its own inputs alone")
        if reference is not None and not _is_script(reference.entry):
            message = 'a script is compared with a script; say `"kind": "script"` here, too'
            yield Fault("/reference/entry", message)
    elif reference is not None and _is_script(reference.entry):
        message = "a script takes no inputs; name the model or the function that this one replaces"
        yield Fault("/reference/entry", message)


def _stop_faults(request: ProgramRequest) -> Iterator[Fault]:
    """Find what asks for more than is done before the program stops."""
    if request.target is not None and request.stop_after != "kernels":
        message = 'only what stops after its kernels has one; say `"stop_after": "kernels"`'
        yield Fault("/target", message)
    if request.stop_after is None:
        return
    # a reference also says what the program is made and called with
    for name, value in {"cases": request.cases, "checks": request.checks}.items():
        if value:
            message = f"nothing runs after {request.stop_after}; leave `{name}` or `stop_after` out"
            yield Fault(f"/{name}", message)


def _is_script(entry: EntryRequest | None) -> bool:
    return entry is not None and entry.kind == "script"

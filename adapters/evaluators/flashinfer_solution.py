"""Solutions of flashinfer-bench, and the programs that evaluate them on workloads.

Python text appended to the solution turns inputs into a torch function and outputs into a tuple,
so the solution's lines keep their numbers. The solution itself is not parsed here.
"""

import hashlib
import random
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from adapters.evaluators.flashinfer_trace_set import Definition, TensorSpec, Workload
from compiler.rejection import FieldError, RequestRejected
from compiler.request.compile_request import MAX_TEXT_CHARS, MAX_TIMEOUT_S

TOLERANCE = {"rtol": 1e-2, "atol": 1e-2}
"""Defaults of `flashinfer-bench serve`."""
ENTRY = "tritond_entry"
PACKAGE = "solution"
"""The folder of several sources, which import each other relatively, as in flashinfer-bench."""
MAX_WORKLOADS = 1000
_ENTRY_POINT = re.compile(r"([^:]{1,256})::([A-Za-z_]\w{0,127})", re.ASCII)
_SOURCE_PATH = re.compile(r"(?:[A-Za-z_]\w*/){0,7}[A-Za-z_]\w*\.py", re.ASCII)
_FLOATS = frozenset({"float32", "float16", "bfloat16"})
_SMALL_FLOATS = frozenset({"float8_e4m3fn", "float8_e5m2"})
_INTEGERS = {"int8": 128, "int16": 1024, "int32": 1024, "int64": 1024}
EXAMPLE: dict[str, Any] = {
    "solution": {
        "name": "rmsnorm_torch",
        "definition": "rmsnorm_h128",
        "author": "me",
        "spec": {
            "language": "python",
            "target_hardware": ["cuda"],
            "entry_point": "main.py::run",
            "destination_passing_style": False,
        },
        "sources": [{"path": "main.py", "content": "def run(x, weight):\n    return x * weight\n"}],
    }
}

_Text = Annotated[str, Field(min_length=1, max_length=256)]


class SolutionSource(BaseModel):
    """One file of a solution."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: _Text
    content: str = Field(min_length=1, max_length=MAX_TEXT_CHARS)


class BuildSpec(BaseModel):
    """Build and call settings of a solution."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    language: Literal["python", "triton", "cpp", "cuda", "tilelang"]
    target_hardware: list[_Text] = Field(min_length=1, max_length=64)
    entry_point: str = Field(max_length=400, description="`path::function`")
    dependencies: list[_Text] = Field(default_factory=list, max_length=64)
    destination_passing_style: bool = True
    binding: str | None = Field(default=None, max_length=64)


class Solution(BaseModel):
    """An implementation of a definition."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: _Text
    definition: _Text
    author: _Text
    spec: BuildSpec
    sources: list[SolutionSource] = Field(min_length=1, max_length=64)
    description: str | None = Field(default=None, max_length=65_536)

    @property
    def unique_name(self) -> str:
        """The name with the first digits of a hash of the code, as in flashinfer-bench."""
        digest = hashlib.sha1(usedforsecurity=False)
        spec = self.spec
        parts = [self.definition, spec.language, spec.entry_point, spec.binding or ""]
        parts += spec.dependencies
        parts += [text for source in self.sources for text in (source.path, source.content)]
        for part in parts:
            digest.update(part.encode("utf-8", "surrogatepass"))
        return f"{self.name}_{digest.hexdigest()[:8]}"


class FlashInferTask(BaseModel):
    """The body of flashinfer-bench's `POST /evaluate`."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, json_schema_extra={"examples": [EXAMPLE]}
    )

    solution: Solution
    workload_uuids: Annotated[list[_Text], Field(max_length=MAX_WORKLOADS)] | None = Field(
        default=None, description="default: all workloads of the definition"
    )


def refuse_other_solutions(solution: Solution) -> None:
    """Raise RequestRejected for unsupported languages and for invalid sources."""
    spec, errors = solution.spec, []
    if spec.language not in {"python", "triton"}:
        message = f"{spec.language} is not supported; write solutions in python or triton"
        errors.append(FieldError("/solution/spec/language", message))
    entry = _ENTRY_POINT.fullmatch(spec.entry_point)
    paths = [source.path for source in solution.sources]
    if entry is None or entry[1] not in paths:
        message = "must be `path::function`, with the path of one of `sources`"
        errors.append(FieldError("/solution/spec/entry_point", message))
    for index, path in enumerate(paths):
        at = f"/solution/sources/{index}/path"
        if paths.index(path) != index:
            errors.append(FieldError(at, "is listed twice; list each path once"))
        elif not _SOURCE_PATH.fullmatch(path):
            errors.append(
                FieldError(at, "must be a relative path of identifiers that ends with .py")
            )
    if errors:
        raise RequestRejected(*errors)


def why_not(definition: Definition, workload: Workload) -> str | None:
    """Return why this service cannot evaluate `workload`, None if it can."""
    if definition.op_type == "sampling":
        return "sampling needs a comparison of distributions, which this service does not have"
    if "moe_fp8_block_scale" in definition.name:
        return "only a share of its elements must match, which this service cannot check"
    for name, spec in workload.inputs.items():
        if spec.type == "safetensors":
            return f"the input {name!r} is in a safetensors file; use random inputs or scalars"
        if spec.type == "scalar" and spec.value is None:
            return f"the scalar input {name!r} has no value"
    for name, tensor in (*definition.inputs.items(), *definition.outputs.items()):
        if tensor.dtype not in _FLOATS | _SMALL_FLOATS | _INTEGERS.keys() | {"bool"}:
            return f"{name!r} has the unsupported dtype {tensor.dtype[:32]}"
        try:
            definition.shape(tensor, workload)
        except KeyError as error:
            return f"the axis {error.args[0]!r} of {name!r} has no length"
    return None


def program_of(solution: Solution, definition: Definition, workload: Workload) -> dict[str, Any]:
    """Return the body of POST /v1/programs that evaluates `solution` on `workload`."""
    source, files, function = _texts(solution)
    inputs = ", ".join(definition.inputs)
    call = _calling(solution, definition, workload, function)
    return {
        "source": f"{source}\n\n{_OUTPUTS}\n\ndef {ENTRY}({inputs}):\n{call}",
        "files": files,
        "entry": {"kind": "function", "name": ENTRY},
        "inputs": {"source": inputs_source(definition, workload), "function": "get_inputs"},
        "reference": {
            "source": f"{definition.reference}\n\n{_OUTPUTS}\n\ndef {ENTRY}({inputs}):\n"
            f"    return _tritond_outputs(run({inputs}), {tuple(definition.outputs)!r})\n",
            "entry": {"kind": "function", "name": ENTRY},
        },
        "tolerance": TOLERANCE,
        "device": "auto",
        "timeout_s": min(300, MAX_TIMEOUT_S),
    }


_OUTPUTS = """
def _tritond_outputs(made, names):
    if isinstance(made, dict):
        return tuple(made[name] for name in names)
    return tuple(made) if isinstance(made, (tuple, list)) else (made,)
""".lstrip("\n")


def _texts(solution: Solution) -> tuple[str, dict[str, str], str]:
    """Return the source that ends with the entry point, further modules, and its call."""
    path, function = solution.spec.entry_point.split("::")
    if len(solution.sources) == 1:
        return solution.sources[0].content, {}, function
    files = {f"{PACKAGE}/{source.path}": source.content for source in solution.sources}
    folders = {
        name.rsplit("/", depth)[0] for name in files for depth in range(1, name.count("/") + 1)
    }
    files |= {
        f"{folder}/__init__.py": "" for folder in folders if f"{folder}/__init__.py" not in files
    }
    module = f"{PACKAGE}/{path}"[: -len(".py")].replace("/", ".")
    return f"from {module} import {function} as _tritond_solution", files, "_tritond_solution"


def _calling(solution: Solution, definition: Definition, workload: Workload, function: str) -> str:
    inputs, names = list(definition.inputs), tuple(definition.outputs)
    if not solution.spec.destination_passing_style:
        arguments = ", ".join(inputs)
        return f"    return _tritond_outputs({function}({arguments}), {names!r})\n"
    made = [
        f"    {name} = torch.empty({definition.shape(tensor, workload)!r}, "
        f'dtype=torch.{tensor.dtype}, device="cuda")\n'
        for name, tensor in definition.outputs.items()
    ]
    arguments = ", ".join([*inputs, *names])
    outputs = ", ".join(names)
    return (
        f"    import torch\n\n{''.join(made)}    {function}({arguments})\n    return ({outputs},)\n"
    )


def inputs_source(definition: Definition, workload: Workload) -> str:
    """Return Python text whose `get_inputs` makes the inputs of `workload`, in order."""
    lines = [
        f"        {_value(definition, workload, name, tensor)},\n"
        for name, tensor in definition.inputs.items()
    ]
    return f"import torch\n\n\ndef get_inputs():\n    return [\n{''.join(lines)}    ]\n"


def _value(definition: Definition, workload: Workload, name: str, tensor: TensorSpec) -> str:
    spec = workload.inputs.get(name)
    if spec is not None and spec.type == "scalar":
        return repr(spec.value)
    if tensor.shape is None:
        return repr(_scalar(f"{workload.uuid}:{name}", tensor.dtype))
    shape, dtype = definition.shape(tensor, workload), f"torch.{tensor.dtype}"
    if tensor.dtype in _FLOATS:
        return f'torch.randn({shape!r}, dtype={dtype}, device="cuda")'
    if tensor.dtype in _SMALL_FLOATS:
        return f'torch.randn({shape!r}, device="cuda").clamp_(-2.0, 2.0).to({dtype})'
    if tensor.dtype == "bool":
        return f'torch.randint(0, 2, {shape!r}, dtype=torch.bool, device="cuda")'
    bound = _INTEGERS[tensor.dtype]
    return f'torch.randint({-bound}, {bound}, {shape!r}, dtype={dtype}, device="cuda")'


def _scalar(seed: str, dtype: str) -> JsonValue:
    """Return a random scalar that is the same for the same `seed`."""
    drawn = random.Random(seed)  # noqa: S311
    if dtype == "bool":
        return drawn.random() < 0.5
    if dtype in _INTEGERS:
        return drawn.randrange(-_INTEGERS[dtype], _INTEGERS[dtype])
    return drawn.gauss(0, 1)


def selected(workloads: Sequence[Workload], uuids: Sequence[str] | None) -> Sequence[Workload]:
    """Return the workloads with these uuids, all for None."""
    if uuids is None:
        return workloads
    wanted = frozenset(uuids)
    return [workload for workload in workloads if workload.uuid in wanted]

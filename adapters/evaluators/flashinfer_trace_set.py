"""Definitions and workloads of flashinfer-bench, from a folder of the operator.

They are read when the service starts. An unreadable file stops it with an error naming the file.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import orjson
from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

MAX_FILE_BYTES = 64 << 20
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_Model = TypeVar("_Model", bound=BaseModel)
_Name = Annotated[str, Field(min_length=1, max_length=256)]


class FlashInferSettings(BaseSettings):
    """Each field is the environment variable TRITOND_<NAME>."""

    model_config = SettingsConfigDict(env_prefix="TRITOND_", env_ignore_empty=True, frozen=True)

    flashinfer_trace: str | None = None
    """A folder with `definitions` and `workloads` in the format of flashinfer-bench."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class DefinitionAxis(_Part):
    """An axis of a definition; workloads give the length of a variable one."""

    type: Literal["const", "var"] = "var"
    value: Annotated[int, Field(ge=0)] | None = None


class TensorSpec(_Part):
    """An input or output: its axes by name (null: a scalar) and its dtype in torch's spelling."""

    shape: list[_Name] | None
    dtype: str = Field(max_length=32)


class Definition(_Part):
    """A computation, with a reference function `run`."""

    name: _Name
    op_type: _Name
    axes: dict[_Name, DefinitionAxis]
    inputs: dict[_Name, TensorSpec]
    outputs: dict[_Name, TensorSpec]
    reference: str = Field(min_length=1)
    description: str | None = None

    def shape(self, tensor: TensorSpec, workload: "Workload") -> list[int]:
        """Return the shape of `tensor` in `workload`. Raises KeyError for an unknown length."""
        lengths = {name: axis.value for name, axis in self.axes.items() if axis.value is not None}
        lengths |= workload.axes
        return [lengths[name] for name in tensor.shape or ()]


class InputSpec(_Part):
    """The source of a workload's input."""

    type: Literal["random", "scalar", "safetensors"]
    value: bool | int | float | None = None


class Workload(_Part):
    """Lengths of the variable axes, and inputs; inputs that are not listed are random."""

    uuid: _Name
    axes: dict[_Name, Annotated[int, Field(ge=0)]]
    inputs: dict[_Name, InputSpec]


@dataclass(frozen=True)
class TraceSet:
    """The definitions and workloads to evaluate against; documents keep their files' content."""

    definitions: Mapping[str, Definition] = field(default_factory=dict)
    workloads: Mapping[str, Sequence[Workload]] = field(default_factory=dict)

    def workload(self, uuid: str) -> Workload | None:
        """Return the workload with this uuid, None if there is none."""
        matching = (
            each for group in self.workloads.values() for each in group if each.uuid == uuid
        )
        return next(matching, None)


def read_trace_set(folder: str | None) -> TraceSet:
    """Return the definitions and workloads in `folder`, none for None.

    Raises ValueError for unreadable or malformed files.
    """
    if folder is None:
        return TraceSet()
    root = Path(folder)
    if not (root / "definitions").is_dir():
        raise ValueError(f"{folder} has no folder `definitions`")
    definitions: dict[str, Definition] = {}
    for path in sorted((root / "definitions").rglob("*.json")):
        definition = _valid(Definition, _json(path, _bytes_of(path), path.name), path.name)
        if definition.name in definitions:
            message = f"{path}: definition {definition.name!r} appears twice; remove one"
            raise ValueError(message)
        _check(definition, path)
        definitions[definition.name] = definition
    workloads: dict[str, list[Workload]] = {}
    for path in sorted((root / "workloads").rglob("*.jsonl")):
        for name, workload in _workloads(path):
            workloads.setdefault(name, []).append(workload)
    return TraceSet(definitions, workloads)


def _workloads(path: Path) -> Iterator[tuple[str, Workload]]:
    for number, line in enumerate(_bytes_of(path).splitlines(), 1):
        if line.strip():
            at = f"{path.name}:{number}"
            document = _json(path, line, at)
            if not isinstance(document, dict) or not isinstance(document.get("definition"), str):
                message = f"{path}: {at} names no `definition`"
                raise ValueError(message)
            yield document["definition"], _valid(Workload, document.get("workload"), at)


def _bytes_of(path: Path) -> bytes:
    size_bytes = path.stat().st_size
    if size_bytes > MAX_FILE_BYTES:
        message = f"{path} has {size_bytes} bytes, more than the {MAX_FILE_BYTES} allowed"
        raise ValueError(message)
    return path.read_bytes()


def _json(path: Path, data: bytes, at: str) -> Any:
    try:
        return orjson.loads(data)
    except ValueError as error:
        message = f"{path}: {at} is not JSON: {error}"
        raise ValueError(message) from None


def _valid(model: type[_Model], document: Any, at: str) -> _Model:
    try:
        return model.model_validate(document)
    except ValidationError as error:
        message = f"{at} is not a valid {model.__name__.lower()} of flashinfer-bench: {error}"
        raise ValueError(message) from None


def _check(definition: Definition, path: Path) -> None:
    """Refuse names that are invalid in the Python text of programs."""
    for name in (*definition.inputs, *definition.outputs):
        if not _IDENTIFIER.fullmatch(name) or iskeyword(name):
            message = f"{path}: {name!r} is not a valid name of an input or output"
            raise ValueError(message)
    tensors = (*definition.inputs.values(), *definition.outputs.values())
    for axis in (axis for tensor in tensors for axis in tensor.shape or ()):
        if axis not in definition.axes:
            message = f"{path}: axis {axis!r} is not defined"
            raise ValueError(message)


def trace_set_of(request: Request) -> TraceSet:
    """Return the trace set of the application of `request`."""
    trace_set: TraceSet = request.app.state.trace_set
    return trace_set

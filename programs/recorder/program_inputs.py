"""Makes the arguments of a program: from specs, or by the program's own functions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from programs.recorder.not_recordable import NotRecordable
from programs.recorder.recording import Recording
from programs.tape.schema import TORCH_NAMES


def from_specs(recording: Recording, specs: Sequence[Any]) -> list[Any]:
    """Return new values of these specs. No op makes their tensors; scalars are as given."""
    return _from_specs(recording, specs, {})


def _from_specs(
    recording: Recording, specs: Sequence[Any], memory: dict[int, torch.Tensor]
) -> list[Any]:
    return [_from_spec(recording, spec, memory) for spec in specs]


def _from_spec(recording: Recording, spec: Any, memory: dict[int, torch.Tensor]) -> Any:
    if not isinstance(spec, Mapping):
        return spec
    ((kind, content),) = spec.items()
    if kind == "tensor":
        return _tensor(recording, content, memory)
    if kind in ("list", "tuple"):
        items = _from_specs(recording, content, memory)
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {name: _from_spec(recording, item, memory) for name, item in content.items()}
    if kind == "float":
        return float(content)
    if kind == "complex":
        return complex(*(_from_spec(recording, part, memory) for part in content))
    raise ValueError(f"unknown kind of input {kind!r}")


def _tensor(
    recording: Recording, spec: Mapping[str, Any], memory: dict[int, torch.Tensor]
) -> torch.Tensor:
    """Add a tensor without known values to the tape, and return it.

    `memory` are the storages so far, as bytes, by their number in the specs.
    """
    dtype = getattr(torch, TORCH_NAMES[spec["dtype"]])
    device = spec.get("device") or recording.order.device
    with recording.silence():
        if "storage" not in spec:
            made = torch.empty(spec["shape"], dtype=dtype, device=device)
        else:
            if spec["storage"] not in memory:
                count = spec["storage_bytes"]
                memory[spec["storage"]] = torch.empty(count, dtype=torch.uint8, device=device)
            octets = memory[spec["storage"]]
            elements = octets[: octets.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
            made = elements.as_strided(spec["shape"], spec["strides"], spec["offset"])
    recording.tape.tensors.add(made)
    return made


def from_function(recording: Recording, function: Callable[[], Any], name: str) -> list[Any]:
    """Return the arguments that the program's own function makes, on the order's device.

    Raises `NotRecordable` for a result that is neither a tensor, a list nor a tuple.
    """
    made = function()
    if isinstance(made, torch.Tensor):
        made = [made]
    if not isinstance(made, (list, tuple)):
        detail = f"{name}() returns {type(made).__name__} instead of a list of arguments"
        raise NotRecordable("bad_inputs", detail)
    return [moved(item, recording.order.device) for item in made]


def moved(value: Any, device: str) -> Any:
    """Return a value with its tensors on `device`."""
    if isinstance(value, torch.Tensor):
        return value.to(device) if value.device.type != device else value
    if type(value) in (list, tuple):
        return type(value)(moved(item, device) for item in value)
    if type(value) is dict:
        return {name: moved(item, device) for name, item in value.items()}
    return value

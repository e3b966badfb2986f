"""ATen's overloads by the names of a tape, and their arguments as torch takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch._decomp import decomposition_table

from programs.replay.fused_cells import FUSED_CELLS
from programs.replay.trusted_values import check_trusted
from programs.tape.invalid_tape import InvalidTape
from programs.tape.schema import (
    AtenOp,
    DeviceName,
    DtypeName,
    GeneratorRef,
    LayoutName,
    MemoryFormatName,
    TensorRef,
    Value,
)
from programs.tape.tape_dtypes import TORCH_NAMES

DTYPES = {name: getattr(torch, torchs) for name, torchs in TORCH_NAMES.items()}
"""torch's types by Triton's names."""
_MEMORY_FORMATS = {
    "contiguous_format": torch.contiguous_format,
    "preserve_format": torch.preserve_format,
    "channels_last": torch.channels_last,
    "channels_last_3d": torch.channels_last_3d,
}
_OF_HOSTS = "pin_memory"
"""Says where in a host's memory something lies, which is nothing to a replay."""
LIFTED = "aten.lift_fresh.default"
"""Takes a constant into a program: the constant itself, or a copy where that was recorded."""
_ONLY_ON_GPUS = frozenset({torch.ops.aten._fused_rms_norm_backward.default})
STATISTICS = frozenset({"aten.native_layer_norm.default", "aten.native_group_norm.default"})
"""Overloads whose statistics, of inputs that are halves, are of another type on the CPU.

Of a layer norm they are fp32 on a GPU; of a group norm they are halves there, and fp32 on the CPU
where the weights are.
"""
_LAYER_NORM_BACKWARD = torch.ops.aten.native_layer_norm_backward.default
_GROUP_NORM_BACKWARD = torch.ops.aten.native_group_norm_backward.default
_BATCH_NORM = torch.ops.aten.native_batch_norm.default
_BATCH_NORM_BACKWARD = torch.ops.aten.native_batch_norm_backward.default
_LOG_SIGMOID = torch.ops.aten.log_sigmoid_forward.default
_LOG_SIGMOID_BACKWARD = torch.ops.aten.log_sigmoid_backward.default
TensorOf = Callable[[int], torch.Tensor]
GeneratorOf = Callable[[int], torch.Generator]


@cache
def overload(name: str) -> Any:
    """Return ATen's overload of this name: `aten.mm.default`. Raises `InvalidTape`."""
    parts = name.split(".")
    if len(parts) != 3 or parts[0] != "aten":
        raise InvalidTape("/ops", f"{name} is no overload of ATen")
    packet = getattr(torch.ops.aten, parts[1], None)
    if packet is None or parts[2] not in packet.overloads():
        raise InvalidTape("/ops", f"torch {torch.__version__} has no {name}")
    return getattr(packet, parts[2])


@cache
def aliased_arguments(name: str) -> tuple[frozenset[int], frozenset[str]]:
    """Return which arguments an overload changes, or returns as they are or in part."""
    arguments = overload(name)._schema.arguments
    aliased = [(n, one.name) for n, one in enumerate(arguments) if one.alias_info is not None]
    return frozenset(number for number, _ in aliased), frozenset(name for _, name in aliased)


@cache
def reads_values(name: str) -> bool:
    """Tell whether an overload may read what is in its arguments: `zeros_like` asks for shapes."""
    kind = name.split(".")[1]
    return not (kind.endswith("_like") or kind.startswith("new_"))


@cache
def changes_geometry(name: str) -> bool:
    """Tell whether an overload changes the shape or strides of a tensor itself: `squeeze_`."""
    return torch.Tag.inplace_view in overload(name).tags


@cache
def _callable(name: str, device: torch.device) -> Any:
    """Return what calls an overload: what only GPUs have of their own, torch puts together."""
    found = overload(name)
    if device.type not in ("cpu", "meta"):
        return found
    if device.type == "cpu" and found in _ONLY_ON_GPUS:
        return decomposition_table[found]
    return _ON_CPUS.get(found, found)


def _layer_norm_backward(
    grad: torch.Tensor,
    given: torch.Tensor,
    shape: list[int],
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: torch.Tensor | None,
    *more: Any,
) -> Any:
    """Call it with statistics of the type that it wants on the CPU."""
    kind = given.dtype if weight is None else weight.dtype
    return _LAYER_NORM_BACKWARD(grad, given, shape, mean.to(kind), rstd.to(kind), weight, *more)


def _group_norm_backward(
    grad: torch.Tensor,
    given: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: torch.Tensor | None,
    *more: Any,
) -> Any:
    """Call it with statistics of the type that it wants on the CPU."""
    kind = given.dtype if weight is None else weight.dtype
    return _GROUP_NORM_BACKWARD(grad, given, mean.to(kind), rstd.to(kind), weight, *more)


def _batch_norm(
    given: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    mean: torch.Tensor | None,
    variance: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """Return statistics in evaluation, too, as a GPU does: the CPU returns empty ones."""
    found = _BATCH_NORM(given, weight, bias, mean, variance, training, momentum, eps)
    if training or mean is None or variance is None:
        return found
    kind = torch.promote_types(given.dtype, torch.float32)
    return found[0], mean.to(kind, copy=True), torch.rsqrt(variance.to(kind) + eps)


def _batch_norm_backward(
    grad: torch.Tensor,
    given: torch.Tensor,
    weight: torch.Tensor | None,
    mean: torch.Tensor | None,
    variance: torch.Tensor | None,
    saved_mean: torch.Tensor | None,
    saved_rstd: torch.Tensor | None,
    training: bool,
    *more: Any,
) -> Any:
    """Call it without the statistics that `_batch_norm` adds in evaluation."""
    if not training:
        saved_mean = saved_rstd = (given if weight is None else weight).new_empty(0)
    saved = saved_mean, saved_rstd
    return _BATCH_NORM_BACKWARD(grad, given, weight, mean, variance, *saved, training, *more)


def _log_sigmoid(given: torch.Tensor) -> Any:
    """Return an empty buffer beside the result: GPUs keep nothing for the backward."""
    return _LOG_SIGMOID(given)[0], given.new_empty(0)


def _log_sigmoid_backward(grad: torch.Tensor, given: torch.Tensor, _: torch.Tensor) -> Any:
    return _LOG_SIGMOID_BACKWARD(grad, given, torch.exp(-given.abs()))


_ON_CPUS: Mapping[Any, Callable[..., Any]] = {
    **FUSED_CELLS,
    _LAYER_NORM_BACKWARD: _layer_norm_backward,
    _GROUP_NORM_BACKWARD: _group_norm_backward,
    _BATCH_NORM: _batch_norm,
    _BATCH_NORM_BACKWARD: _batch_norm_backward,
    _LOG_SIGMOID: _log_sigmoid,
    _LOG_SIGMOID_BACKWARD: _log_sigmoid_backward,
}
"""What calls overloads of which the CPU has none, or one with other arguments or results.

On the meta device, too, so that what is derived there is what a GPU makes.
"""


def called(
    op: AtenOp, tensor: TensorOf, device: torch.device, generator: GeneratorOf | None = None
) -> list[Any]:
    """Call the overload of `op` on `device`; return its results flat, None for those of no tensor.

    `generator` None: nothing is drawn, as on the meta device.
    Raises `InvalidTape`, and whatever ATen raises.
    """
    decoded = _Decoding(tensor, device, generator)
    arguments = [decoded(value) for value in op.args]
    named = {name: decoded(value) for name, value in op.kwargs.items() if name != _OF_HOSTS}
    if changes_geometry(op.op) and arguments:
        own = arguments[0]
        arguments[0] = own.as_strided(own.shape, own.stride(), own.storage_offset())
    check_trusted(op.op, overload(op.op)._schema, arguments, named)
    return list(_flat(_callable(op.op, device)(*arguments, **named)))


@dataclass(frozen=True, slots=True)
class _Decoding:
    """Arguments of a tape as torch takes them."""

    tensor: TensorOf
    device: torch.device
    generator: GeneratorOf | None

    def __call__(self, value: Value) -> Any:
        match value:
            case TensorRef():
                return self.tensor(value.id)
            case tuple():
                return [self(item) for item in value]
            case DtypeName():
                return DTYPES[value.name]
            case DeviceName():
                return self.device
            case LayoutName():
                return torch.strided
            case MemoryFormatName():
                return _MEMORY_FORMATS[value.name]
            case GeneratorRef():
                return None if self.generator is None else self.generator(value.number)
        return value


def _flat(result: Any) -> Any:
    if isinstance(result, (list, tuple)):
        for item in result:
            yield from _flat(item)
    else:
        yield result if isinstance(result, torch.Tensor) else None

"""Calls ATen's overloads by their names on a tape, with decoded arguments."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch
from torch._decomp import decomposition_table

from programs.replay.fused_cells import FUSED_CELLS
from programs.replay.unchecked_indices import check_indices
from programs.tape.schema import (
    TORCH_NAMES,
    AtenOp,
    DeviceName,
    DtypeName,
    GeneratorRef,
    InvalidTape,
    LayoutName,
    MemoryFormatName,
    TensorRef,
    Value,
)

DTYPES = {name: getattr(torch, torch_name) for name, torch_name in TORCH_NAMES.items()}
"""torch's dtypes by Triton's names."""
_MEMORY_FORMATS = {
    "contiguous_format": torch.contiguous_format,
    "preserve_format": torch.preserve_format,
    "channels_last": torch.channels_last,
    "channels_last_3d": torch.channels_last_3d,
}
_PIN_MEMORY = "pin_memory"
"""An argument that replays ignore, as it concerns the host's memory."""
LIFTED = "aten.lift_fresh.default"
"""Returns a constant of the program: the constant itself, or a copy if one was recorded."""
_ONLY_ON_GPUS = frozenset({torch.ops.aten._fused_rms_norm_backward.default})
STATISTICS = frozenset({"aten.native_layer_norm.default", "aten.native_group_norm.default"})
"""Overloads whose statistics of fp16 and bf16 inputs have another dtype on the CPU.

A layer norm has fp32 statistics on a GPU. A group norm has the input's dtype there, and fp32 on
the CPU if its weights are fp32.
"""
_LAYER_NORM_BACKWARD = torch.ops.aten.native_layer_norm_backward.default
_GROUP_NORM_BACKWARD = torch.ops.aten.native_group_norm_backward.default
_BATCH_NORM = torch.ops.aten.native_batch_norm.default
_BATCH_NORM_BACKWARD = torch.ops.aten.native_batch_norm_backward.default
_LOG_SIGMOID = torch.ops.aten.log_sigmoid_forward.default
_LOG_SIGMOID_BACKWARD = torch.ops.aten.log_sigmoid_backward.default
TensorOf = Callable[[int], torch.Tensor]
GeneratorOf = Callable[[int], torch.Generator]
Call = Callable[[AtenOp, TensorOf, torch.device, GeneratorOf], list[Any]]
"""Calls the overload of an op on a device, as `called` does."""


@cache
def overload(name: str) -> Any:
    """Return the ATen overload with a name like `aten.mm.default`. Raises `InvalidTape`."""
    parts = name.split(".")
    if len(parts) != 3 or parts[0] != "aten":
        raise InvalidTape("/ops", f"{name} is not an ATen overload")
    packet = getattr(torch.ops.aten, parts[1], None)
    if packet is None or parts[2] not in packet.overloads():
        raise InvalidTape("/ops", f"torch {torch.__version__} has no {name}")
    return getattr(packet, parts[2])


@cache
def aliased_arguments(name: str) -> tuple[frozenset[int], frozenset[str]]:
    """Return the arguments, by position and by name, that an overload changes or aliases."""
    arguments = overload(name)._schema.arguments
    aliased = [(n, one.name) for n, one in enumerate(arguments) if one.alias_info is not None]
    return frozenset(number for number, _ in aliased), frozenset(name for _, name in aliased)


@cache
def reads_values(name: str) -> bool:
    """Return True if an overload may read values: `zeros_like`, for one, reads only a shape."""
    kind = name.split(".")[1]
    return not (kind.endswith("_like") or kind.startswith("new_"))


@cache
def changes_geometry(name: str) -> bool:
    """Return True if an overload changes the shape or strides of its argument, as `squeeze_`."""
    return torch.Tag.inplace_view in overload(name).tags


@cache
def _callable(name: str, device: torch.device) -> Any:
    """Return a function that calls an overload on a device, composed of other ops if needed."""
    found = overload(name)
    if device.type not in ("cpu", "meta"):
        return _ON_GPUS.get(found, found)
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
    """Cast the statistics to the dtype that the CPU's kernel requires."""
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
    """Cast the statistics to the dtype that the CPU's kernel requires."""
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
    """Return statistics in evaluation, too, as a GPU does; the CPU returns empty ones."""
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
    """Remove the statistics that `_batch_norm` adds in evaluation."""
    if not training:
        saved_mean = saved_rstd = (given if weight is None else weight).new_empty(0)
    saved = saved_mean, saved_rstd
    return _BATCH_NORM_BACKWARD(grad, given, weight, mean, variance, *saved, training, *more)


def _log_sigmoid(given: torch.Tensor) -> Any:
    """Return the result and an empty buffer, as GPUs keep nothing for the backward."""
    return _LOG_SIGMOID(given)[0], given.new_empty(0)


def _log_sigmoid_backward(grad: torch.Tensor, given: torch.Tensor, _: torch.Tensor) -> Any:
    return _LOG_SIGMOID_BACKWARD(grad, given, torch.exp(-given.abs()))


def _assert_on_host(value: torch.Tensor, message: str = "the tensor has a zero") -> None:
    """Raise the error of a failed assertion; the GPU's own assertion would end its process."""
    if not bool(value):
        raise RuntimeError(message)


_ON_GPUS: Mapping[Any, Callable[..., Any]] = {
    torch.ops.aten._assert_async.default: _assert_on_host,
    torch.ops.aten._assert_async.msg: _assert_on_host,
}
_ON_CPUS: Mapping[Any, Callable[..., Any]] = {
    **FUSED_CELLS,
    _LAYER_NORM_BACKWARD: _layer_norm_backward,
    _GROUP_NORM_BACKWARD: _group_norm_backward,
    _BATCH_NORM: _batch_norm,
    _BATCH_NORM_BACKWARD: _batch_norm_backward,
    _LOG_SIGMOID: _log_sigmoid,
    _LOG_SIGMOID_BACKWARD: _log_sigmoid_backward,
}
"""Functions for overloads that the CPU lacks, or has with other arguments or results.

The meta device uses them, too, so that it derives the results of a GPU.
"""


def called(
    op: AtenOp, tensor: TensorOf, device: torch.device, generator: GeneratorOf | None = None
) -> list[Any]:
    """Call the overload of `op` on `device`; return its results flat, None for non-tensors.

    `generator` is None where ops draw nothing, as on the meta device.
    Raises `InvalidTape`, and ATen's errors.
    """
    return list(flat(prepared(op, tensor, device, generator)()))


def prepared(
    op: AtenOp, tensor: TensorOf, device: torch.device, generator: GeneratorOf | None = None
) -> Callable[[], Any]:
    """Return the call of the overload of `op`, with its decoded arguments. Raises as `called`."""
    decoded = _Decoding(tensor, device, generator)
    arguments = [decoded(value) for value in op.args]
    named = {name: decoded(value) for name, value in op.kwargs.items() if name != _PIN_MEMORY}
    if changes_geometry(op.op) and arguments:
        own = arguments[0]
        arguments[0] = own.as_strided(own.shape, own.stride(), own.storage_offset())
    check_indices(op.op, overload(op.op)._schema, arguments, named)
    return partial(_callable(op.op, device), *arguments, **named)


@dataclass(frozen=True, slots=True)
class _Decoding:
    """Converts a tape's arguments to torch's."""

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


def flat(result: Any) -> Iterator[torch.Tensor | None]:
    """Yield the results of a call, None for non-tensors."""
    if isinstance(result, (list, tuple)):
        for item in result:
            yield from flat(item)
    else:
        yield result if isinstance(result, torch.Tensor) else None

"""Calls ATen's overloads by their names on a tape, with decoded arguments.

LSTM and GRU cells that torch fuses only for CUDA are composed of other ops for other devices. They
compute like CUDA's kernels (aten/src/ATen/native/cuda/RNN.cu): halves in fp32, with a workspace for
the backward. It holds the gates in the order of the weights, and for a GRU also the last hidden
state and its product. Argument values that torch's CPU kernels use as indices without checking them
are checked here, as a GPU's kernels assert them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from math import prod
from typing import Any

import torch
from torch._decomp import decomposition_table

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

Given = Any
"""A tensor, or None."""
Named = Mapping[str, Any]
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


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _summed(*parts: Given) -> torch.Tensor:
    first, *others = [_wide(part) for part in parts if part is not None]
    for other in others:
        first = first + other
    return first


def lstm_cell(
    input_gates: torch.Tensor, hidden_gates: torch.Tensor, cell: torch.Tensor,
    input_bias: Given = None, hidden_bias: Given = None,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
    """Return hidden state, cell state and workspace, as `_thnn_fused_lstm_cell` does."""
    gates = _summed(input_gates, hidden_gates, input_bias, hidden_bias).chunk(4, 1)
    enter, forget, out = (torch.sigmoid(gates[at]) for at in (0, 1, 3))
    new = torch.tanh(gates[2])
    state = forget * _wide(cell) + enter * new
    workspace = torch.cat([enter, forget, new, out], 1)
    made = out * torch.tanh(state), state, workspace
    return tuple(result.to(cell.dtype).contiguous() for result in made)


def lstm_cell_backward(
    hidden_grad: Given, cell_grad: Given, cell: torch.Tensor, state: torch.Tensor,
    workspace: torch.Tensor, has_bias: bool,
) -> tuple[Given, ...]:  # fmt: skip
    """Return the gradients of gates, cell and bias, of `_thnn_fused_lstm_cell_backward_impl`."""
    if hidden_grad is None and cell_grad is None:
        return None, None, None
    enter, forget, new, out = _wide(workspace).chunk(4, 1)
    by_hidden = torch.zeros_like(enter) if hidden_grad is None else _wide(hidden_grad)
    by_cell = torch.zeros_like(enter) if cell_grad is None else _wide(cell_grad)
    bent = torch.tanh(_wide(state))
    through = by_hidden * out * (1 - bent * bent) + by_cell
    parts = [
        through * new * (1 - enter) * enter,
        through * _wide(cell) * (1 - forget) * forget,
        through * enter * (1 - new * new),
        by_hidden * bent * (1 - out) * out,
    ]
    gates = torch.cat(parts, 1).to(workspace.dtype)
    return gates, (through * forget).to(cell.dtype), gates.sum(0) if has_bias else None


def gru_cell(
    input_gates: torch.Tensor, hidden_gates: torch.Tensor, hidden: torch.Tensor,
    input_bias: Given = None, hidden_bias: Given = None,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
    """Return hidden state and workspace, as `_thnn_fused_gru_cell` does."""
    from_input = _summed(input_gates, input_bias).chunk(3, 1)
    kept = _summed(hidden_gates, hidden_bias).chunk(3, 1)
    reset, update = (torch.sigmoid(from_input[at] + kept[at]) for at in (0, 1))
    new = torch.tanh(from_input[2] + reset * kept[2])
    last = _wide(hidden)
    workspace = torch.cat([reset, update, new, last, kept[2]], 1)
    made = new + update * (last - new), workspace
    return tuple(result.to(hidden.dtype).contiguous() for result in made)


def gru_cell_backward(
    hidden_grad: torch.Tensor, workspace: torch.Tensor, has_bias: bool
) -> tuple[Given, ...]:
    """Return the gradients that `_thnn_fused_gru_cell_backward` does."""
    reset, update, new, last, kept = _wide(workspace).chunk(5, 1)
    by_hidden = _wide(hidden_grad)
    by_update = by_hidden * (last - new) * (1 - update) * update
    by_new = by_hidden * (1 - update) * (1 - new * new)
    by_reset = by_new * kept * (1 - reset) * reset
    kind = workspace.dtype
    input_grad = torch.cat([by_reset, by_update, by_new], 1).to(kind)
    keeping = torch.cat([by_reset, by_update, by_new * reset], 1).to(kind)
    biases = (input_grad.sum(0), keeping.sum(0)) if has_bias else (None, None)
    return input_grad, keeping, (by_hidden * update).to(kind).contiguous(), *biases


FUSED_CELLS: dict[Any, Any] = {
    torch.ops.aten._thnn_fused_lstm_cell.default: lstm_cell,
    torch.ops.aten._thnn_fused_lstm_cell_backward_impl.default: lstm_cell_backward,
    torch.ops.aten._thnn_fused_gru_cell.default: gru_cell,
    torch.ops.aten._thnn_fused_gru_cell_backward.default: gru_cell_backward,
}
"""Cells by the name of torch's overload."""


@dataclass(frozen=True, slots=True)
class _IndexArgument:
    """An argument whose elements must be from 0 to below a bound."""

    name: str
    bound: Callable[[Named], float]
    left_out: str = ""
    """The argument with a value that the op ignores, so that it may be out of range."""


def _area_of_input(dimensions: int) -> Callable[[Named], float]:
    return lambda named: prod(named["self"].shape[-dimensions:])


def _area_of_output(named: Named) -> float:
    return prod(named["output_size"])


def _classes_of_input(dimensions: int) -> Callable[[Named], float]:
    """Return the number of classes: the dimension before those of an image, the last of a row."""
    return lambda named: named["self"].shape[-1 - dimensions]


_INDEX_ARGUMENTS: Mapping[str, _IndexArgument] = {
    "aten.fractional_max_pool2d.default": _IndexArgument("random_samples", lambda _: 1.0),
    "aten.fractional_max_pool3d.default": _IndexArgument("random_samples", lambda _: 1.0),
    "aten.max_pool2d_with_indices_backward.default": _IndexArgument("indices", _area_of_input(2)),
    "aten.max_pool3d_with_indices_backward.default": _IndexArgument("indices", _area_of_input(3)),
    "aten.max_unpool2d.default": _IndexArgument("indices", _area_of_output),
    "aten.max_unpool3d.default": _IndexArgument("indices", _area_of_output),
    "aten.nll_loss_backward.default": _IndexArgument(
        "target", _classes_of_input(0), "ignore_index"
    ),
    "aten.nll_loss2d_backward.default": _IndexArgument(
        "target", _classes_of_input(2), "ignore_index"
    ),
}


def check_indices(name: str, schema: Any, arguments: list[Any], keywords: Named) -> None:
    """Raise `IndexError` if an overload would use a value that is out of range."""
    index = _INDEX_ARGUMENTS.get(name)
    if index is None:
        return
    names = [argument.name for argument in schema.arguments]
    named = dict(zip(names, arguments, strict=False)) | dict(keywords)
    values = named[index.name]
    if not isinstance(values, torch.Tensor) or values.device.type != "cpu":
        return
    if index.left_out:
        values = values[values != named[index.left_out]]
    if not values.numel():
        return
    most, low, high = index.bound(named), values.min().item(), values.max().item()
    if not (low >= 0 and high < most):
        message = (
            f"{index.name} is out of range: its values are from {low} to {high}, but must be at "
            f"least 0 and below {most}"
        )
        raise IndexError(message)


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
    aliased = [
        (n, argument.name)
        for n, argument in enumerate(arguments)
        if argument.alias_info is not None
    ]
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
    function = overload(name)
    if device.type not in ("cpu", "meta"):
        return _ON_GPUS.get(function, function)
    if device.type == "cpu" and function in _ONLY_ON_GPUS:
        return decomposition_table[function]
    return _ON_CPUS.get(function, function)


def _layer_norm_backward(
    grad: torch.Tensor,
    data: torch.Tensor,
    shape: list[int],
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: torch.Tensor | None,
    *more: Any,
) -> Any:
    """Cast the statistics to the dtype that the CPU's kernel requires."""
    kind = data.dtype if weight is None else weight.dtype
    return _LAYER_NORM_BACKWARD(grad, data, shape, mean.to(kind), rstd.to(kind), weight, *more)


def _group_norm_backward(
    grad: torch.Tensor,
    data: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: torch.Tensor | None,
    *more: Any,
) -> Any:
    """Cast the statistics to the dtype that the CPU's kernel requires."""
    kind = data.dtype if weight is None else weight.dtype
    return _GROUP_NORM_BACKWARD(grad, data, mean.to(kind), rstd.to(kind), weight, *more)


def _batch_norm(
    data: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    mean: torch.Tensor | None,
    variance: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """Return statistics in evaluation, too, as a GPU does; the CPU returns empty ones."""
    results = _BATCH_NORM(data, weight, bias, mean, variance, training, momentum, eps)
    if training or mean is None or variance is None:
        return results
    kind = torch.promote_types(data.dtype, torch.float32)
    return results[0], mean.to(kind, copy=True), torch.rsqrt(variance.to(kind) + eps)


def _batch_norm_backward(
    grad: torch.Tensor,
    data: torch.Tensor,
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
        saved_mean = saved_rstd = (data if weight is None else weight).new_empty(0)
    saved = saved_mean, saved_rstd
    return _BATCH_NORM_BACKWARD(grad, data, weight, mean, variance, *saved, training, *more)


def _log_sigmoid(data: torch.Tensor) -> Any:
    """Return the result and an empty buffer, as GPUs keep nothing for the backward."""
    return _LOG_SIGMOID(data)[0], data.new_empty(0)


def _log_sigmoid_backward(grad: torch.Tensor, data: torch.Tensor, _: torch.Tensor) -> Any:
    return _LOG_SIGMOID_BACKWARD(grad, data, torch.exp(-data.abs()))


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

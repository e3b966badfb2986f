"""Records some functions of torch as one op each, so that the replay's device picks a kernel.

Otherwise torch decomposes attention, batch norm and RNNs as this process's CPU build does: an LSTM
into thousands of ops. Calls that need gradients are decomposed, as only the parts are
differentiable. The other way round, fast paths of torch are disabled: in evaluation, attention
modules and encoder layers call one op each that only some devices have, and that torch cannot
decompose. `rrelu` fills a tensor with noise depending on input values.
"""

import types
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
import torch.nn.modules.rnn as rnn_modules
from torch._prims_common import suggest_memory_format
from torch.nn import functional
from torch.utils._pytree import tree_leaves

from programs.recorder.recording import Recording, current

_ATTENTION = "aten.scaled_dot_product_attention.default"
_BATCH_NORM = "aten.batch_norm.default"
_RNNS = ("lstm", "gru", "rnn_tanh", "rnn_relu")
_CELLS = ("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")
_OF_KEYS = 1
"""The `mask_type` of a padding mask of keys; other masks have an axis of heads and queries."""


def install() -> None:
    """Replace torch's functions by coarse ones."""
    functional: Any = torch.nn.functional
    functional.scaled_dot_product_attention = _attention(functional.scaled_dot_product_attention)
    torch.batch_norm = _coarse(
        torch.batch_norm, _BATCH_NORM, _fake_batch_norm(torch.batch_norm), _is_plain_in_order
    )
    own = {name: getattr(torch._VF, name) for name in _CELLS}
    for name in _RNNS:
        real = getattr(torch._VF, name)
        fake = _fake_rnn(has_cell=name == "lstm")
        own[name] = _coarse(real, f"aten.{name}.input", fake, _is_plain_rnn)
    modules: Any = rnn_modules
    modules._VF = types.SimpleNamespace(**own)
    modules._rnn_impls = {"RNN_TANH": own["rnn_tanh"], "RNN_RELU": own["rnn_relu"]}


def _coarse(
    real: Callable[..., Any],
    name: str,
    fake: Callable[..., Any],
    applies: Callable[[Any, Any], bool],
) -> Callable[..., Any]:
    """Return a function that records a call as the op `name`, with `fake`'s results as outputs.

    A call for which `applies` is False goes to `real`, whose parts are recorded.
    """

    @wraps(real)
    def call(*args: Any, **kwargs: Any) -> Any:
        recording = current()
        if recording is None or recording.muted or not applies(args, kwargs):
            return real(*args, **kwargs)
        return _written(recording, name, fake, args, kwargs)

    return call


def _written(
    recording: Recording, name: str, fake: Callable[..., Any], args: Any, kwargs: Any
) -> Any:
    tape = recording.tape
    entry: dict[str, Any] = {"op": name, "a": [tape.value(item) for item in args]}
    if kwargs:
        entry["k"] = {key: tape.value(item) for key, item in kwargs.items()}
    tensors = [item for item in tree_leaves((args, kwargs)) if isinstance(item, torch.Tensor)]
    recording.values.forget_with_constants(tensors)  # batch norm updates its running statistics
    recording.draws += 1
    with recording.silence():
        returned = fake(*args, **kwargs)
    entry["o"] = [
        tape.tensors.add(item) if isinstance(item, torch.Tensor) else None
        for item in tree_leaves(returned)
    ]
    tape.write(entry)
    return returned


def _is_plain(args: Any, kwargs: Any) -> bool:
    """Return True if no argument of a call needs a gradient."""
    if not torch.is_grad_enabled():
        return True
    tensors = (item for item in tree_leaves((args, kwargs)) if isinstance(item, torch.Tensor))
    return not any(tensor.requires_grad for tensor in tensors)


def _is_plain_in_order(args: Any, kwargs: Any) -> bool:
    """Return True if a call is plain and has only positional arguments, as on a tape."""
    return not kwargs and _is_plain(args, kwargs)


def _is_plain_rnn(args: Any, kwargs: Any) -> bool:
    """Return True for a plain call of an RNN on padded sequences, without autocast."""
    padded = len(args) > 8 and isinstance(args[8], bool)
    return padded and not _autocast_dtype(args) and _is_plain(args, kwargs)


def _autocast_dtype(tensors: Any) -> torch.dtype | None:
    device = next((item.device.type for item in tensors if isinstance(item, torch.Tensor)), "cpu")
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None


def _attention(real: Callable[..., Any]) -> Callable[..., Any]:
    """Return attention as one op, after autocast's casts, which are recorded separately."""
    coarse = _coarse(real, _ATTENTION, real, _is_plain)

    @wraps(real)
    def attention(*args: Any, **kwargs: Any) -> Any:
        dtype = _autocast_dtype(args)
        if dtype is None or current() is None:
            return coarse(*args, **kwargs)
        cast = [_cast(item, dtype) for item in args]
        named = {name: _cast(item, dtype) for name, item in kwargs.items()}
        with torch.autocast(args[0].device.type, enabled=False):
            return coarse(*cast, **named)

    return attention


def _cast(value: Any, dtype: torch.dtype) -> Any:
    """Cast as autocast does: all floating-point tensors but float64."""
    is_cast = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.to(dtype) if is_cast and value.dtype != torch.float64 else value


def _fake_batch_norm(real: Callable[..., Any]) -> Callable[..., Any]:
    """Return a batch norm on fake tensors with the strides that cuDNN's results have."""

    def output(x: Any, weight: Any, bias: Any, mean: Any, variance: Any, *more: Any) -> Any:
        made = real(x, weight, bias, mean, variance, *more)
        if not _is_taken_by_cudnn(x, weight, bias):
            return made
        return made.contiguous(memory_format=suggest_memory_format(x))

    return output


def _is_taken_by_cudnn(x: Any, weight: Any, bias: Any) -> bool:
    """Return True if CUDA builds of torch call cuDNN, which takes no matrices and no bf16."""
    if x.device.type != "cuda" or x.ndim < 3 or not x.numel() or weight is None or bias is None:
        return False
    takes_halves = x.dtype != torch.float16 or weight.dtype == torch.float32
    return takes_halves and torch.bfloat16 not in (x.dtype, weight.dtype)


def _fake_rnn(*, has_cell: bool) -> Callable[..., Any]:
    """Return an RNN on fake tensors that computes only shapes, without unrolling."""

    def outputs(
        x: Any, hidden: Any, weights: Any, biases: bool, layers: int, dropout: float,
        training: bool, bidirectional: bool, batch_first: bool,
    ) -> Any:  # fmt: skip
        del weights, biases, layers, dropout, training
        last = hidden[0] if has_cell else hidden
        width = last.shape[-1] * (2 if bidirectional else 1)
        if batch_first:  # torch computes with time first, and transposes
            output = x.new_empty((x.shape[1], x.shape[0], width)).transpose(0, 1)
        else:
            output = x.new_empty((*x.shape[:-1], width))
        hidden_shapes = [item.shape for item in hidden] if has_cell else [hidden.shape]
        return (output, *[x.new_empty(shape) for shape in hidden_shapes])

    return outputs


def disable_fast_paths() -> None:
    """Replace torch's fast paths."""
    layer: Any = torch.nn.TransformerEncoderLayer
    layer.forward = _without_fast_path(layer.forward)
    namespace: Any = torch
    real = torch._native_multi_head_attention
    namespace._native_multi_head_attention = _attention_as_parts(real)
    namespace.rrelu = _rrelu_as_parts(torch.rrelu, is_in_place=False)
    namespace.rrelu_ = _rrelu_as_parts(torch.rrelu_, is_in_place=True)


def _without_fast_path(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Return a `forward` without the fast path. An encoder around it may still use its own.

    The encoder's fast path makes nested tensors of padded sequences, and zeros the padding. It is
    refused, as the slow path returns other values there.
    """

    @wraps(forward)
    def plainly(*args: Any, **kwargs: Any) -> Any:
        before = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            return forward(*args, **kwargs)
        finally:
            torch.backends.mha.set_fastpath_enabled(before)

    return plainly


def _attention_as_parts(real: Callable[..., Any]) -> Callable[..., Any]:
    """Return the fast path of attention in other ops. Its result is contiguous, as torch's is."""

    @wraps(real)
    def attention(
        query: Any, key: Any, value: Any, width: int, heads: int, weights: Any, biases: Any,
        out_weight: Any, out_bias: Any, mask: Any = None, need_weights: bool = True,
        average_attn_weights: bool = True, mask_type: int | None = None,
    ) -> Any:  # fmt: skip
        of_keys = mask if mask_type == _OF_KEYS else None
        of_all = mask.flatten(0, 1) if mask is not None and mask_type != _OF_KEYS else None
        made, scores = functional.multi_head_attention_forward(
            *(tensor.transpose(0, 1) for tensor in (query, key, value)),
            width, heads, weights, biases, None, None, False, 0.0, out_weight, out_bias,
            training=False, key_padding_mask=of_keys, attn_mask=of_all,
            need_weights=need_weights, average_attn_weights=average_attn_weights,
        )  # fmt: skip
        return made.transpose(0, 1).contiguous(), scores

    return attention


def _rrelu_as_parts(real: Callable[..., Any], *, is_in_place: bool) -> Callable[..., Any]:
    """Return `rrelu` in other ops. In training each element draws a slope, as on a GPU."""

    @wraps(real)
    def rrelu(
        tensor: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False,
        generator: Any = None,
    ) -> Any:  # fmt: skip
        if current() is None:
            return real(tensor, lower, upper, training, generator)
        if training:
            slopes = torch.empty_like(tensor).uniform_(lower, upper, generator=generator)
            made = torch.where(tensor <= 0, tensor * slopes, tensor)
        else:
            made = functional.leaky_relu(tensor, (lower + upper) / 2)
        return tensor.copy_(made) if is_in_place else made

    return rrelu

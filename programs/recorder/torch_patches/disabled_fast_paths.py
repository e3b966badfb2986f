"""Disables fast paths of torch whose ops a tape cannot hold, in favour of common ops.

In evaluation, attention modules and encoder layers call one op each that only some devices have,
and that torch cannot decompose. `rrelu` fills a tensor with noise depending on input values.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch.nn import functional

from programs.recorder.recording import current

_OF_KEYS = 1
"""The `mask_type` of a padding mask of keys; other masks have an axis of heads and queries."""


def install() -> None:
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
            *(one.transpose(0, 1) for one in (query, key, value)),
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
        given: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False,
        generator: Any = None,
    ) -> Any:  # fmt: skip
        if current() is None:
            return real(given, lower, upper, training, generator)
        if training:
            slopes = torch.empty_like(given).uniform_(lower, upper, generator=generator)
            made = torch.where(given <= 0, given * slopes, given)
        else:
            made = functional.leaky_relu(given, (lower + upper) / 2)
        return given.copy_(made) if is_in_place else made

    return rrelu

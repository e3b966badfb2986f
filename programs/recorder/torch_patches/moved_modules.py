"""Moves modules between devices as torch moves real ones: a parameter stays the same object.

torch swaps fake parameters with new ones instead, and refuses that where anything else holds them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor


def install() -> None:
    """Let `.data = ` and `Module.to` do on fake tensors what they do on real ones."""
    kind: Any = FakeTensor
    plain: Any = torch.Tensor.data

    def take(self: Any, other: Any) -> None:
        plain.__set__(self, other)
        if isinstance(other, FakeTensor):
            self.fake_device = other.fake_device
            self.constant = None

    kind.data = property(plain.__get__, take)
    module: Any = torch.nn.Module
    module._apply = _apply


def _apply(self: Any, function: Callable[[Any], Any], recurse: bool = True) -> Any:
    """Put what `function` makes of each parameter and buffer in its place, as torch does."""
    if recurse:
        for child in self.children():
            child._apply(function)
    for parameter in self._parameters.values():
        if parameter is None:
            continue
        with torch.no_grad():
            _take(parameter, function(parameter))
            if parameter.grad is not None:
                parameter.grad = _moved(parameter.grad, function)
    for name, buffer in self._buffers.items():
        if buffer is not None:
            self._buffers[name] = function(buffer)
    return self


def _take(parameter: Any, other: Any) -> None:
    if other is not parameter:
        parameter.data = other


def _moved(gradient: Any, function: Callable[[Any], Any]) -> Any:
    return function(gradient).requires_grad_(gradient.requires_grad)

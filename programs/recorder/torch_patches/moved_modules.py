"""Moves modules with fake parameters between devices like real ones: parameters stay the same.

torch replaces fake parameters by new ones instead, and raises if anything else refers to them.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor


def install() -> None:
    """Make `.data = ` and `Module.to` work on fake tensors as on real ones."""
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
    """Apply `function` to each parameter and buffer, in place, as `Module._apply` does."""
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

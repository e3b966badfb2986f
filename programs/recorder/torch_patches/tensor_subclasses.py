"""Gives fake tensors `as_subclass`, which torch lets only plain tensors have.

The result belongs to a class made of the program's and that of fake tensors. As with any subclass,
functions of torch return it again, unless the class has its own `__torch_function__`.
"""

from functools import cache
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._tensor import _convert
from torch.overrides import get_default_nowrap_functions

_real: Any = torch.Tensor.as_subclass


def install() -> None:
    """Replace `torch.Tensor.as_subclass`."""
    tensor: Any = torch.Tensor
    tensor.as_subclass = _as_subclass


class _Wrapping(torch.Tensor):  # type: ignore[misc]
    """Results of torch's functions in the class of the program, as torch's own classes do."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
        return result if func in get_default_nowrap_functions() else _convert(result, cls)


def _as_subclass(tensor: Any, cls: Any) -> Any:
    """Return the tensor in a subclass: another object of the same memory."""
    if not isinstance(tensor, FakeTensor):
        return _real(tensor, cls)
    with torch._C.DisableTorchFunctionSubclass():
        made = tensor.view_as(tensor)
    if cls is not torch.Tensor:
        made.__class__ = cls if issubclass(cls, FakeTensor) else _class_of_fakes(cls)
    return made


@cache
def _class_of_fakes(cls: Any) -> Any:
    return type(cls.__name__, (cls, _Wrapping, FakeTensor), {})

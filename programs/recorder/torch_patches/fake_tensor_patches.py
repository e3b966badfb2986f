"""Gives fake tensors what torch lets only real ones have, or does on real ones only.

Modules with fake parameters move between devices like real ones: parameters stay the same. torch
replaces fake parameters by new ones instead, and raises if anything else refers to them.

`as_subclass` makes a class of the program's and that of fake tensors. As with any subclass,
functions of torch return it again, unless the class has a `__torch_function__`.

`one_hot` of a fake tensor becomes comparisons, which accept a class that is out of range: a check
of values is recorded. A tensor descriptor's base has no address, so its alignment is checked by the
offset of the view: memory that torch allocates begins at a multiple of 16 bytes.

Truncated normals are drawn with the inverse of their distribution function, as in torch before
2.13. Since then torch draws until all numbers are within the bounds, which depends on values. The
numbers differ from those of eager torch with the same seed, but both programs draw the same.
"""

import math
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._tensor import _convert
from torch.overrides import get_default_nowrap_functions
from triton.tools.tensor_descriptor import TensorDescriptor

from programs.recorder.recording import current

_real_as_subclass: Any = torch.Tensor.as_subclass
ALIGNMENT_BYTES = 16


def install() -> None:
    """Patch modules, subclasses, checks of values and of addresses, and truncated normals."""
    _install_moved_modules()
    _install_tensor_subclasses()
    _install_class_checks()
    _install_descriptor_checks()
    _install_truncated_normals()


def _install_moved_modules() -> None:
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
    module._apply = _apply_in_place


def _apply_in_place(self: Any, function: Callable[[Any], Any], recurse: bool = True) -> Any:
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
                parameter.grad = _moved_gradient(parameter.grad, function)
    for name, buffer in self._buffers.items():
        if buffer is not None:
            self._buffers[name] = function(buffer)
    return self


def _take(parameter: Any, other: Any) -> None:
    if other is not parameter:
        parameter.data = other


def _moved_gradient(gradient: Any, function: Callable[[Any], Any]) -> Any:
    return function(gradient).requires_grad_(gradient.requires_grad)


def _install_tensor_subclasses() -> None:
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
        return _real_as_subclass(tensor, cls)
    with torch._C.DisableTorchFunctionSubclass():
        made = tensor.view_as(tensor)
    if cls is not torch.Tensor:
        made.__class__ = cls if issubclass(cls, FakeTensor) else _class_of_fakes(cls)
    return made


@cache
def _class_of_fakes(cls: Any) -> Any:
    return type(cls.__name__, (cls, _Wrapping, FakeTensor), {})


def _install_class_checks() -> None:
    """Replace `torch.nn.functional.one_hot` by one that records its check of the classes."""
    functional: Any = torch.nn.functional
    functional.one_hot = _checked_one_hot(functional.one_hot)


def _checked_one_hot(real: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(real)
    def one_hot(tensor: Any, num_classes: int = -1) -> Any:
        recording = current()
        encoded = real(tensor, num_classes)
        if recording is None or recording.muted or not isinstance(tensor, FakeTensor):
            return encoded
        if num_classes > 0 and tensor.numel():
            is_class = (tensor >= 0) & (tensor < num_classes)
            torch._assert_async(
                is_class.all(), f"one_hot: class values must be from 0 to {num_classes - 1}"
            )
        return encoded

    return one_hot


def _install_descriptor_checks() -> None:
    """Make `TensorDescriptor` check its base also if that is a fake tensor."""
    descriptor: Any = TensorDescriptor
    own = descriptor.__post_init__

    def check(self: Any) -> None:
        own(self)
        base = self.base
        if isinstance(base, FakeTensor):
            offset_bytes = base.storage_offset() * base.element_size()
            assert offset_bytes % ALIGNMENT_BYTES == 0, "base must be 16-byte aligned"

    descriptor.__post_init__ = check


def _install_truncated_normals() -> None:
    """Replace the implementation of `torch.nn.init.trunc_normal_`."""
    module: Any = torch.nn.init
    module._no_grad_trunc_normal_ = _trunc_normal_


def _trunc_normal_(
    tensor: torch.Tensor,
    mean: float,
    std: float,
    a: float,
    b: float,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    low, high = (math.erf((bound - mean) / (std * math.sqrt(2.0))) for bound in (a, b))
    with torch.no_grad():
        tensor.uniform_(low, high, generator=generator).erfinv_()
        return tensor.mul_(std * math.sqrt(2.0)).add_(mean).clamp_(a, b)

"""Ops that are recorded as others, where fakes or tapes lack what eager torch gives."""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import torch

_SHIFTS: Mapping[str, str] = {
    "__lshift__": "lshift", "bitwise_left_shift": "lshift",
    "__rshift__": "rshift", "bitwise_right_shift": "rshift",
}  # fmt: skip
_SCALAR_TYPES: Mapping[torch.dtype, str] = {
    torch.bool: "Bool", torch.float32: "Float", torch.float64: "Double", torch.float16: "Half",
    torch.bfloat16: "BFloat16",
}  # fmt: skip


def composed(name: str, func: Any, args: Any, kwargs: Any) -> Callable[[], Any] | None:
    """Return a call of other ops with the result of this one; None to record the op itself."""
    packet = name.split(".")[1]
    if packet in _SHIFTS:
        return _shift(_SHIFTS[packet], func, *args)
    if name == "aten.resize_.default" and not kwargs.get("memory_format"):
        return _resize(*args)
    if name == "aten._pin_memory.default":
        return lambda: _pinned(args[0])
    return None


def _shift(name: str, func: Any, given: Any, count: Any) -> Callable[[], Any] | None:
    """Return a shift of booleans as of the integers that torch promotes them to."""
    kind = torch.result_type(given, count)
    if kind in _SCALAR_TYPES:
        device = (given if isinstance(given, torch.Tensor) else count).device.type
        message = f"\"{name}_{device}\" not implemented for '{_SCALAR_TYPES[kind]}'"
        raise NotImplementedError(message)
    if not isinstance(given, torch.Tensor):
        return lambda: _shifted_number(func, given, _as_integers(count, kind))
    if not any(getattr(each, "dtype", None) is torch.bool for each in (given, count)):
        return None
    return lambda: func(_as_integers(given, kind), _as_integers(count, kind))


def _as_integers(value: Any, kind: torch.dtype) -> Any:
    is_boolean = isinstance(value, torch.Tensor) and value.dtype is torch.bool
    return torch.ops.aten._to_copy.default(value, dtype=kind) if is_boolean else value


def _shifted_number(func: Any, number: int, count: Any) -> Any:
    """Return `number << count`, with the number as a tensor, as tapes hold it."""
    given = torch.ops.aten.scalar_tensor.default(number, dtype=count.dtype, device=count.device)
    return getattr(torch.ops.aten, func.overloadpacket.__name__).Tensor(given, count)


def _resize(tensor: Any, size: Any) -> Callable[[], Any] | None:
    """Return another view of the same memory, None if that has to grow."""
    if tuple(tensor.shape) == tuple(size):
        return lambda: tensor
    end = tensor.storage_offset() + prod(size)
    if end * tensor.itemsize > tensor.untyped_storage().nbytes():
        return None
    strides = [prod(size[axis + 1 :]) for axis in range(len(size))]
    return lambda: tensor.as_strided_(size, strides, tensor.storage_offset())


def _pinned(tensor: Any) -> Any:
    if tensor.device.type != "cpu":
        message = f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned"
        raise RuntimeError(message)
    made = torch.empty_like(tensor, pin_memory=True)
    made.copy_(tensor)
    return made

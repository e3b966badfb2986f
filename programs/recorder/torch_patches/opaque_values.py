"""Opaque values, which `.item()`, `.numpy()` and similar methods return in a recording.

A program may print them or put them into results, as tests of programs do. A program that branches
on one, or makes a tensor from one, depends on a value: it is refused at that line. Measured times
are opaque, too: programs that time themselves print them.
"""

import time
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import torch
import triton
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves

from programs.recorder.recording import Recording, current, refused

_MAX_COUNT = 1 << 20
"""Limit of the elements of a tensor that is converted to opaque values."""
_ARITHMETIC = (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv",
    "mod", "rmod", "pow", "rpow", "neg", "pos", "abs", "round", "lt", "le", "gt", "ge", "eq", "ne",
    "and", "rand", "or", "ror", "xor", "rxor", "invert", "matmul", "rmatmul",
)  # fmt: skip
_DECIDING = (
    "bool", "int", "float", "complex", "index", "len", "iter", "getitem", "contains", "trunc",
    "floor", "ceil", "call",
)  # fmt: skip


_NOT_OF_NUMPY = {
    torch.bfloat16: "BFloat16", torch.complex32: "ComplexHalf",
    torch.float8_e4m3fn: "Float8_e4m3fn", torch.float8_e5m2: "Float8_e5m2",
}  # fmt: skip
"""Dtypes that `Tensor.numpy` refuses, with their names in its error."""
_CLOCK = "clock"


class OpaqueValue:
    """A number that a recording does not have. Arithmetic on it gives another opaque value."""

    def __init__(self, how: str, reason: str = "value_dependent") -> None:
        self.__dict__["how"] = how
        self.__dict__["reason"] = reason

    def __repr__(self) -> str:
        return "?"

    def __format__(self, _: str) -> str:
        return "?"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _decided(self)


def _derived(self: OpaqueValue, *others: Any) -> OpaqueValue:
    if any(isinstance(other, torch.Tensor) for other in others):
        _decided(self)  # the result would be a tensor, whose value the tape cannot express
    return OpaqueValue(self.how, self.reason)


def _decided(self: OpaqueValue, *_: Any, **__: Any) -> NoReturn:
    what = "a time" if self.reason == "clock" else "a value"
    refused(self.reason, f"it depends on {what} from {self.how}")


for _name in _ARITHMETIC:
    setattr(OpaqueValue, f"__{_name}__", _derived)
for _name in _DECIDING:
    setattr(OpaqueValue, f"__{_name}__", _decided)


def install() -> None:
    """Make methods of fake tensors return opaque values."""
    tensor: Any = torch.Tensor
    tensor.item = _known_or(tensor.item, _item)
    tensor.tolist = _known_or(tensor.tolist, _list)
    tensor.numpy = _checked(_known_or(tensor.numpy, _array))
    tensor.__array__ = _checked(_known_or(tensor.__array__, lambda self, *_, **__: _array(self)))
    tensor.__repr__ = _waited_for(tensor.__repr__)
    for name in ("allclose", "equal"):
        compare = _compared(getattr(torch, name), name)
        setattr(torch, name, compare)
        setattr(tensor, name, compare)
    testing: Any = torch.testing
    testing.assert_close = _asserted(testing.assert_close)


def _waited_for(real: Callable[..., str]) -> Callable[..., str]:
    """Wrap `__repr__` of tensors: the host waits for their values."""

    def shown(self: Any, *args: Any, **kwargs: Any) -> str:
        recording = current()
        if recording is not None and isinstance(self, FakeTensor):
            _wait(recording, self)
        return real(self, *args, **kwargs)

    return shown


def _known_or(real: Callable[..., Any], unread: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that returns the value of a tensor if it is known, else an opaque value."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        recording = current()
        if recording is None or not isinstance(self, FakeTensor):
            return real(self, *args, **kwargs)
        _wait(recording, self)
        known = _known(recording, self)
        if known is not None:
            with _disable_current_modes():
                return real(known.clone(), *args, **kwargs)
        return unread(self, *args, **kwargs)

    return method


def _wait(recording: Recording, *tensors: Any) -> None:
    """Make the host wait for values on CUDA, and so for all earlier copies."""
    if any(tensor.device.type == "cuda" for tensor in tensors):
        recording.tape.copies.wait()


def _known(recording: Recording, tensor: Any) -> Any | None:
    value = recording.values.of(tensor)
    return getattr(tensor, "constant", None) if value is None else value


def _item(tensor: Any) -> OpaqueValue:
    if tensor.numel() != 1:
        raise RuntimeError(f"a Tensor with {tensor.numel()} elements cannot be converted to Scalar")
    return OpaqueValue(".item()")


def _list(tensor: Any) -> Any:
    return _filled(tensor, OpaqueValue(".tolist()")).tolist()


def _checked(convert: Callable[..., Any]) -> Callable[..., Any]:
    """Return a conversion of tensors to arrays that raises what `Tensor.numpy` raises."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if current() is not None and isinstance(self, FakeTensor):
            _check_convertible(self, force=bool(kwargs.get("force", False)))
        return convert(self, *args, **kwargs)

    return method


def _check_convertible(tensor: Any, *, force: bool) -> None:
    if tensor.device.type != "cpu" and not force:
        raise TypeError(
            f"can't convert {tensor.device} device type tensor to numpy. Use Tensor.cpu() to copy "
            "the tensor to host memory first."
        )
    if tensor.requires_grad and torch.is_grad_enabled() and not force:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    if tensor.dtype in _NOT_OF_NUMPY:
        raise TypeError(f"Got unsupported ScalarType {_NOT_OF_NUMPY[tensor.dtype]}")


def _array(tensor: Any, **_: Any) -> Any:
    return _filled(tensor, OpaqueValue(".numpy()"))


def _filled(tensor: Any, value: OpaqueValue) -> Any:
    if tensor.numel() > _MAX_COUNT:
        refused(
            "value_dependent",
            f"it copies {tensor.numel()} values to the host; the limit is {_MAX_COUNT}",
        )
    array = np.empty(list(tensor.shape), dtype=object)
    array.fill(value)
    return array


def _asserted(real: Callable[..., Any]) -> Callable[..., Any]:
    """Return an assertion that accepts all fake tensors, as the replay compares outputs."""

    def assert_close(actual: Any, expected: Any, *args: Any, **kwargs: Any) -> None:
        recording = current()
        leaves = tree_leaves((actual, expected))
        fakes = [item for item in leaves if isinstance(item, FakeTensor)]
        if recording is None or not fakes:
            real(actual, expected, *args, **kwargs)
        else:
            _wait(recording, *fakes)

    return assert_close


def _compared(real: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a comparison of tensors with an opaque result, unless both values are known."""

    def compare(left: Any, right: Any, *args: Any, **kwargs: Any) -> Any:
        recording = current()
        fakes = [item for item in (left, right) if isinstance(item, FakeTensor)]
        if recording is None or not fakes:
            return real(left, right, *args, **kwargs)
        _wait(recording, *fakes)
        known = [
            _known(recording, item) if isinstance(item, FakeTensor) else item
            for item in (left, right)
        ]
        if any(value is None for value in known):
            return OpaqueValue(f"torch.{name}")
        with _disable_current_modes():
            return real(*known, *args, **kwargs)

    return compare


def install_times() -> None:
    """Replace `time.sleep` and Triton's benchmarks."""
    module: Any = time
    module.sleep = _asleep
    for name in ("do_bench", "do_bench_cudagraph"):
        setattr(triton.testing, name, _measuring(f"triton.testing.{name}"))


def opaque_time(how: str) -> OpaqueValue:
    """Return an opaque time, measured by `how`."""
    return OpaqueValue(how, _CLOCK)


def _asleep(_: Any) -> None: ...


def _measuring(how: str) -> Callable[..., Any]:
    """Return a benchmark that calls a function once and returns opaque times."""

    def measure(function: Any, *_: Any, quantiles: Any = None, **__: Any) -> Any:
        function()
        recording = current()
        if recording is not None:
            recording.tape.copies.wait()
        if quantiles is None or len(quantiles) == 1:
            return opaque_time(how)
        return [opaque_time(how) for _ in quantiles]

    return measure

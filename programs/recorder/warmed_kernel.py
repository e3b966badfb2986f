"""A kernel after `warmup()`, which launches with the constants that it was compiled for."""

from collections.abc import Callable
from typing import Any, NoReturn

import torch
import triton.language as tl

from programs.recorder.recording import refused

_ALIGNED_BYTES = 16


class Launched:
    """The result of a launch, in place of a compiled kernel, which a recording does not have."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        refused("unsupported_launch", f"it reads {name!r} of a compiled kernel")


class WarmedKernel(Launched):
    """A kernel that was compiled for some `arguments`, and is launched with others by position.

    `launch` takes the grid, and all arguments by name.
    """

    def __init__(
        self, kernel: Any, arguments: dict[str, Any], launch: Callable[[Any, dict[str, Any]], Any]
    ) -> None:
        self._kernel, self._arguments, self._launch = kernel, arguments, launch

    def __getitem__(self, grid: Any) -> Callable[..., Launched]:
        """Return what launches it. Constants are those that it was compiled for."""

        def run(*args: Any, stream: Any = None) -> Launched:
            del stream
            parameters = self._kernel.params
            if len(args) != len(parameters):
                message = f"Expected {len(parameters)} arguments, but got {len(args)}"
                raise TypeError(message)
            given = dict(self._arguments)
            for parameter, value in zip(parameters, args, strict=True):
                if not parameter.is_constexpr:
                    if not parameter.do_not_specialize:
                        self._check(parameter.name, value)
                    given[parameter.name] = value
            return self._launch((grid[0], grid[1], grid[2]), given)  # type: ignore[no-any-return]

        return run

    def _check(self, name: str, value: Any) -> None:
        known = self._arguments[name]
        if _compiled_as(known) != _compiled_as(value):
            detail = (
                f"it launches what warmup() compiled for another {name!r}: Triton compiles 1, "
                "multiples of 16 and aligned tensors apart; warm it up with such arguments"
            )
            refused("unsupported_launch", detail)


def _compiled_as(value: Any) -> Any:
    """Return what a kernel is compiled for, of an argument."""
    if isinstance(value, torch.Tensor):
        offset_bytes = value.storage_offset() * value.itemsize
        return value.dtype, offset_bytes % _ALIGNED_BYTES == 0
    if type(value).__name__ == "MockTensor":
        return value.dtype, True
    if isinstance(value, tl.constexpr):
        return _compiled_as(value.value)
    if isinstance(value, bool) or value is None or isinstance(value, float):
        return type(value)
    if isinstance(value, int):
        return value == 1 or (value % _ALIGNED_BYTES == 0, -(2**31) <= value < 2**31)
    if isinstance(value, list | tuple):
        return [_compiled_as(each) for each in value]
    return type(value)

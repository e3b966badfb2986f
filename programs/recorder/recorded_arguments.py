"""Converts launched kernels and their arguments to the JSON of a tape.

Tensors become their numbers. A kernel becomes its name, with its file and line.
"""

import linecache
import re
from types import CodeType
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton._C.libtriton import native_specialize_impl
from triton.backends.compiler import BaseBackend
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction, KernelParam

from programs.recorder.kernel_definitions import KernelName
from programs.recorder.record_order import NotRecordable
from programs.recorder.recording import Recording
from programs.recorder.refusals import named
from programs.recorder.tape_writer import scalar

_UNSPECIALIZED = ("u1", "fp", "bf")
"""Prefixes of the annotated types whose values the JIT does not check."""
_PASSED_ON = (torch.Tensor, tl.constexpr, JITFunction, Autotuner, Heuristics)


def argument(recording: Recording, name: str, value: Any) -> Any:
    """Return an argument of a kernel as JSON. Raises `NotRecordable` if a tape cannot hold it."""
    tape = recording.tape
    if isinstance(value, torch.Tensor):
        return {"t": tape.number(value)}
    if isinstance(value, tl.constexpr):
        return argument(recording, name, value.value)
    if isinstance(value, tl.dtype):
        return {"dtype": _dtype(value)}
    if isinstance(value, (JITFunction, Autotuner, Heuristics)):
        return {"kernel": kernel_name(recording, value)}
    if isinstance(value, (list, tuple)):
        return {"tuple": [argument(recording, name, item) for item in value]}
    return _wrapped(tape, name, value)


def _wrapped(tape: Any, name: str, value: Any) -> Any:
    """Return an argument that wraps a tensor, or a plain value."""
    kind = type(value).__name__
    if kind == "TensorDescriptor":
        return {"descriptor": _descriptor(tape, value)}
    if kind == "TensorWrapper":
        pair = {"t": tape.number(value.base), "dtype": _dtype(value.dtype)}
        return {"reinterpreted": pair}
    if hasattr(value, "data_ptr"):
        raise NotRecordable("unsupported_launch", f"its argument {name!r} is a {kind}")
    try:
        return scalar(value)
    except NotRecordable as refusal:
        if refusal.reason == "value_dependent":
            raise
        detail = f"its argument {name!r} is {refusal.detail}"
        raise NotRecordable("unsupported_launch", detail) from None


def _dtype(dtype: Any) -> str:
    name = str(dtype.name)
    return {"int1": "i1"}.get(name, name.replace("uint", "u").replace("int", "i"))


def _descriptor(tape: Any, value: Any) -> dict[str, Any]:
    return {
        "t": tape.number(value.base),
        "shape": [int(size) for size in value.shape],
        "strides": [int(stride) for stride in value.strides],
        "block_shape": [int(size) for size in value.block_shape],
    }


def _line_of_def(code: CodeType) -> int:
    """Return the line of a function's `def`, as its code begins at its first decorator."""
    lines = linecache.getlines(code.co_filename)
    for line in range(code.co_firstlineno, len(lines) + 1):
        if lines[line - 1].lstrip().startswith(("def ", "async def ")):
            return line
    return code.co_firstlineno


def _defined(function: Any, found_as: KernelName | None) -> dict[str, Any]:
    """Return the file and name by which a kernel is compiled, and a line to show for it."""
    path = function.__code__.co_filename
    own = {"file": named(path), "line": _line_of_def(function.__code__)}
    if found_as is None:
        return own | {"name": function.__qualname__}
    file = str(found_as.module.get("__file__") or path)
    if file == path:
        return own | {"name": found_as.name}
    return {"file": named(file), "name": found_as.name, "line": _line_of_name(file, found_as.name)}


def _line_of_name(path: str, name: str) -> int:
    """Return the first line that begins with a variable's name, 1 without one."""
    lines = linecache.getlines(path)
    begin = re.compile(rf"{name}\b")
    return next((number for number, line in enumerate(lines, 1) if begin.match(line)), 1)


def kernel_name(recording: Recording, value: Any) -> str:
    """Return the name of a jitted function on the tape. Adds it to the tape's kernels if new."""
    kernel = value
    while not isinstance(kernel, JITFunction):
        kernel = kernel.fn
    found_as = recording.definitions.launched(kernel, recording.lines.innermost())
    described = {
        **_defined(kernel.fn, found_as),
        "parameters": [
            {"name": parameter.name, "constexpr": bool(parameter.is_constexpr)}
            for parameter in kernel.params
        ],
    }
    kernels = recording.tape.kernels
    for name, known in kernels.items():
        if known == described:
            return name
    name = f"k{len(kernels)}"
    kernels[name] = described
    return name


def check_argument(parameter: KernelParam, value: Any) -> None:
    """Raise the JIT's `TypeError` or `OverflowError` for a value that it refuses.

    Raises `NotRecordable` for a constexpr of NumPy, as most uses of it in a kernel fail.
    """
    if parameter.is_constexpr:
        if isinstance(value, np.generic | np.ndarray) and not isinstance(value, float):
            kind = type(value).__name__
            detail = (
                f"its constexpr {parameter.name!r} is a numpy.{kind}, which Triton refuses nearly "
                f"everywhere: pass int({parameter.name}), float(…) or bool(…)"
            )
            raise NotRecordable("unsupported_launch", detail)
    elif not parameter.annotation_type.startswith(_UNSPECIALIZED):
        _check_specializable(parameter, value)


def _check_specializable(parameter: KernelParam, value: Any) -> None:
    if isinstance(value, tuple):
        try:
            for item in value:
                _check_specializable(parameter, item)
        except TypeError:
            message = "failed to specialize argument of type: tuple"  # Triton's message
            raise TypeError(message) from None
    elif not (isinstance(value, _PASSED_ON) or _stands_for_memory(value)):
        native_specialize_impl(BaseBackend, value, parameter.is_const, True, True)


def _stands_for_memory(value: Any) -> bool:
    """Return True for a wrapped tensor, and for a value that a recording does not have."""
    kind = type(value).__name__
    return kind in ("TensorDescriptor", "TensorWrapper", "OpaqueValue") or hasattr(
        value, "data_ptr"
    )

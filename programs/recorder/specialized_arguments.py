"""Checks arguments of a launch with Triton's own JIT, except tensors, which have no address."""

from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton._C.libtriton import native_specialize_impl
from triton.backends.compiler import BaseBackend
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction, KernelParam

from programs.recorder.not_recordable import NotRecordable

_UNSPECIALIZED = ("u1", "fp", "bf")
"""Prefixes of the annotated types whose values the JIT does not check."""
_PASSED_ON = (torch.Tensor, tl.constexpr, JITFunction, Autotuner, Heuristics)


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

"""Which values Triton's JIT takes as arguments of a launch: it is asked itself, but for tensors."""

from __future__ import annotations

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
"""Beginnings of the annotated types whose values the JIT does not look at."""
_PASSED_ON = (torch.Tensor, tl.constexpr, JITFunction, Autotuner, Heuristics)


def check_argument(parameter: KernelParam, value: Any) -> None:
    """Raise for a value that the JIT refuses: what it raises, `TypeError` or `OverflowError`.

    Raises `NotRecordable` for a constexpr of NumPy, which compiles in few places and fails in all
    others.
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
            message = "failed to specialize argument of type: tuple"  # as Triton says it
            raise TypeError(message) from None
    elif not (isinstance(value, _PASSED_ON) or _stands_for_memory(value)):
        native_specialize_impl(BaseBackend, value, parameter.is_const, True, True)


def _stands_for_memory(value: Any) -> bool:
    """Tell of a tensor in other clothes, and of a value that is not known while recording."""
    kind = type(value).__name__
    return kind in ("TensorDescriptor", "TensorWrapper", "UnreadValue") or hasattr(
        value, "data_ptr"
    )

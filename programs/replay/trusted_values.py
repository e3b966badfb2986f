"""Arguments whose values torch's CPU kernels take at their word: they would write wherever told.

A GPU's kernels assert; here what is out of range is refused before the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import torch

Named = Mapping[str, Any]
_Checked = tuple[str, Callable[[Named], float]]
"""The name of the argument, and what each of its elements must be below; none may be negative."""


def _area_of_input(dimensions: int) -> Callable[[Named], float]:
    return lambda named: prod(named["self"].shape[-dimensions:])


def _area_of_output(named: Named) -> float:
    return prod(named["output_size"])


_TRUSTED: Mapping[str, _Checked] = {
    "aten.fractional_max_pool2d.default": ("random_samples", lambda _: 1.0),
    "aten.fractional_max_pool3d.default": ("random_samples", lambda _: 1.0),
    "aten.max_pool2d_with_indices_backward.default": ("indices", _area_of_input(2)),
    "aten.max_pool3d_with_indices_backward.default": ("indices", _area_of_input(3)),
    "aten.max_unpool2d.default": ("indices", _area_of_output),
    "aten.max_unpool3d.default": ("indices", _area_of_output),
}


def check_trusted(name: str, schema: Any, arguments: list[Any], given: Named) -> None:
    """Raise `IndexError` where an overload would take a value at its word that is out of range."""
    if name not in _TRUSTED:
        return
    names = [argument.name for argument in schema.arguments]
    named = dict(zip(names, arguments, strict=False)) | dict(given)
    checked, bound = _TRUSTED[name]
    values = named[checked]
    most = bound(named)
    if isinstance(values, torch.Tensor) and values.numel() and values.device.type == "cpu":
        low, high = values.min().item(), values.max().item()
        if not (low >= 0 and high < most):
            message = f"{checked} is out of range: it has {low} to {high}, and {most} is its end"
            raise IndexError(message)

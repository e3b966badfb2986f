"""Checks argument values that torch's CPU kernels use as indices without checking them.

A GPU's kernels assert. Here values out of range are refused before the call.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import torch

Named = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _IndexArgument:
    """An argument whose elements must be from 0 to below a bound."""

    name: str
    bound: Callable[[Named], float]
    left_out: str = ""
    """The argument with a value that the op ignores, so that it may be out of range."""


def _area_of_input(dimensions: int) -> Callable[[Named], float]:
    return lambda named: prod(named["self"].shape[-dimensions:])


def _area_of_output(named: Named) -> float:
    return prod(named["output_size"])


def _classes_of_input(dimensions: int) -> Callable[[Named], float]:
    """Return the number of classes: the dimension before those of an image, the last of a row."""
    return lambda named: named["self"].shape[-1 - dimensions]


_INDEX_ARGUMENTS: Mapping[str, _IndexArgument] = {
    "aten.fractional_max_pool2d.default": _IndexArgument("random_samples", lambda _: 1.0),
    "aten.fractional_max_pool3d.default": _IndexArgument("random_samples", lambda _: 1.0),
    "aten.max_pool2d_with_indices_backward.default": _IndexArgument("indices", _area_of_input(2)),
    "aten.max_pool3d_with_indices_backward.default": _IndexArgument("indices", _area_of_input(3)),
    "aten.max_unpool2d.default": _IndexArgument("indices", _area_of_output),
    "aten.max_unpool3d.default": _IndexArgument("indices", _area_of_output),
    "aten.nll_loss_backward.default": _IndexArgument(
        "target", _classes_of_input(0), "ignore_index"
    ),
    "aten.nll_loss2d_backward.default": _IndexArgument(
        "target", _classes_of_input(2), "ignore_index"
    ),
}


def check_indices(name: str, schema: Any, arguments: list[Any], given: Named) -> None:
    """Raise `IndexError` if an overload would use a value that is out of range."""
    index = _INDEX_ARGUMENTS.get(name)
    if index is None:
        return
    names = [argument.name for argument in schema.arguments]
    named = dict(zip(names, arguments, strict=False)) | dict(given)
    values = named[index.name]
    if not isinstance(values, torch.Tensor) or values.device.type != "cpu":
        return
    if index.left_out:
        values = values[values != named[index.left_out]]
    if not values.numel():
        return
    most, low, high = index.bound(named), values.min().item(), values.max().item()
    if not (low >= 0 and high < most):
        message = (
            f"{index.name} is out of range: its values are from {low} to {high}, but must be at "
            f"least 0 and below {most}"
        )
        raise IndexError(message)

"""Draws truncated normal numbers by the inverse of their distribution, as torch did before 2.13.

torch 2.13 draws until all lie within the bounds, and how often that is depends on the values. The
numbers are others than eager torch draws from a seed; a program and its reference draw the same.
"""

from __future__ import annotations

import math
from typing import Any

import torch


def install() -> None:
    """Put it in the place of what `torch.nn.init.trunc_normal_` calls."""
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

"""Draws truncated normals with the inverse of their distribution function, as torch before 2.13.

torch 2.13 draws until all numbers are within the bounds, which depends on values. The numbers
differ from those of eager torch with the same seed, but a program and its reference draw the same.
"""

import math
from typing import Any

import torch


def install() -> None:
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

"""The task of references in torch, for a zygote of its own: no other child should carry torch.

Its zygote needs `environment.TORCH_ENVIRONMENT`.
"""

from __future__ import annotations

import importlib
from functools import partial

import torch

from compiler.launching.reference import reference
from compiler.launching.tensors import TORCH

TASKS = {"reference": partial(reference, language=TORCH)}

_ALSO = (
    "numpy.fft", "numpy.linalg", "numpy.random", "torch.fft", "torch.func", "torch.linalg",
    "torch.nn.functional", "torch.special", "torch.utils",
)  # fmt: skip


def warm_up() -> None:
    """Import what a reference may need, as its child can open no file, and use torch once."""
    for name in _ALSO:
        importlib.import_module(name)
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    rows = torch.ones(8, 8)
    weights = torch.ones(2, 1, 3, 3)
    functions = torch.nn.functional
    functions.conv2d(rows[None, None], weights)
    functions.scaled_dot_product_attention(rows[None], rows[None], rows[None])
    torch.einsum("ij,jk->ik", rows, torch.softmax(rows, dim=1))
    repr(rows)

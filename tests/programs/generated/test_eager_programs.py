"""Eager programs run on the CPU as on CUDA."""

from __future__ import annotations

import torch

from tests.programs.generated.eager_programs import run_eagerly


def test_a_batch_norm_of_a_transposed_matrix_is_transposed() -> None:
    source = (
        "import torch\nx = torch.randn(2, 3, device='cuda').t()\n"
        "y = torch.nn.BatchNorm1d(2).requires_grad_(False)(x)\n"
    )

    (call,) = run_eagerly(source, {"kind": "script", "outputs": ["y"]}).calls

    y = call.outputs["y"]
    assert isinstance(y, torch.Tensor)
    assert y.stride() == (1, 3)
    assert y._version == 0

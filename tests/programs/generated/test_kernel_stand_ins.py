"""Torch versions of the fixed kernels compute the same as Triton's."""

from __future__ import annotations

import torch

from tests.programs.generated.kernel_stand_ins import STAND_INS

scale = STAND_INS["scale_kernel"]


def test_a_launch_leaves_the_version_of_a_tensor() -> None:
    x = torch.ones(4)

    scale[(1,)](x, x, 4, 1, 1, 2, BLOCK=4)

    assert x.tolist() == [2.0] * 4
    assert x._version == 0


def test_a_bf16_value_times_an_fp32_factor_is_not_rounded_to_bf16() -> None:
    x, out = torch.tensor([0.92578125]).bfloat16(), torch.zeros(1)

    scale[(1,)](x, out, 1, 1, 1, 1.5, BLOCK=4)

    assert out.item() == 1.388671875


def test_an_fp16_value_times_an_integer_is_fp16() -> None:
    x, out = torch.tensor([1 + 2**-10]).half(), torch.zeros(1)

    scale[(1,)](x, out, 1, 1, 1, 3, BLOCK=4)

    assert out.item() == (x * 3).item() != x.item() * 3

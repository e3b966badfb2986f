"""Tensors without elements have the shape, strides and dtype that torch gives: random programs."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from compiler.front.script import torch_functions
from compiler.front.script.fake_tensor import Tensor

PROGRAMS = 400
STEPS = 5
CREATED = (
    "torch.empty(4, 6)", "torch.rand(2, 4, 6).half()", "torch.arange(24).view(4, 6)",
    "torch.ones((6, 4), dtype=torch.int32).t()", "torch.zeros(4, 1, 6, dtype=torch.bfloat16)",
    "torch.randint(0, 9, (4, 6))", "torch.full((4, 6), 1.5)", "torch.full((4, 6), 2)",
    "torch.tensor([[1, 2, 3], [4, 5, 6]])", "torch.tensor([1.5, 2.5])", "torch.randn(24)[::2]",
    "torch.arange(0.0, 1.0, 0.25)", "torch.linspace(0, 1, 5)", "torch.eye(4)",
    "torch.empty_strided((4, 6), (8, 1))", "torch.randperm(8)", "torch.rand(4, 6)[1:, 2:]",
)  # fmt: skip
STEP = (
    "x + y", "x * 2", "x / 2", "x / x", "x - 1.5", "x.float()", "x.to(torch.float64)", "x.half()",
    "x > 0", "x == y", "x.sum()", "x.sum(dim=-1)", "x.mean(0, keepdim=True)", "x.max(-1)[0]",
    "x.max(-1)[1]", "x.argmax(-1)", "x.amax(0)", "x.transpose(0, -1)", "x.contiguous()",
    "x.clone()", "x.unsqueeze(0)", "x.unsqueeze(-1)", "x.squeeze()", "x.flatten()",
    "x.reshape(-1)", "x.view(-1)", "x[0]", "x[..., 0]", "x[None]", "x[1:]", "x[..., ::2]",
    "x.expand(3, *x.shape)", "x.repeat(2, *[1] * x.dim())", "torch.cat([x, x])",
    "torch.stack([x, x], dim=-1)", "torch.where(x > 0, x, y)", "torch.zeros_like(x)",
    "torch.empty_like(x, dtype=torch.float16)", "x.new_empty(3, 2)", "torch.exp(x)", "torch.abs(x)",
    "x.chunk(2)[0]", "x.split(1, dim=-1)[0]", "x.unbind(0)[0]", "x @ x.transpose(-1, -2)",
    "torch.matmul(x.float(), x.float().t())", "x.permute(*reversed(range(x.dim())))", "-x",
    "torch.softmax(x.float(), dim=-1)", "x.cumsum(0)", "x.bool()", "x.narrow(0, 0, 1)",
    "torch.broadcast_tensors(x, y)[0]", "x.detach()", "x.type_as(y)", "x.view_as(x)", "x.any()",
    "x.T if x.dim() == 2 else x", "x.mT if x.dim() > 1 else x", "x[x.shape[0] - 1]",
)  # fmt: skip


def fake() -> SimpleNamespace:
    names = torch_functions.known_names(lambda name: name)["torch"]
    return SimpleNamespace(**names, **torch_functions.DTYPES)


FAKE = fake()


def ran(library: Any, program: list[str]) -> Any:
    """Return the result of a program, or the exception's class by which torch refuses it."""
    try:
        x = y = eval(program[0], {"torch": library})
        for step in program[1:]:
            x = eval(step, {"torch": library, "x": x, "y": y})
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        return error
    return x


def described(value: Any) -> Any:
    dtype = str(value.dtype)
    shape = tuple(value.shape)
    # an axis of one element may have any stride
    strides = [step for step, extent in zip(value.stride(), shape, strict=True) if extent > 1]
    return shape, strides, dtype, value.is_contiguous(), value.data_ptr() % 16 == 0


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_a_program_gives_tensors_as_torch_does(seed: int) -> None:
    draw = random.Random(seed)
    program = [draw.choice(CREATED), *draw.choices(STEP, k=draw.randint(1, STEPS))]
    expected = ran(torch, program)
    if isinstance(expected, Exception):
        return  # a script that torch refuses launches nothing after it

    found = ran(FAKE, program)

    assert isinstance(found, Tensor), (program, found)
    if not found.is_guess:
        assert described(found) == described(expected), program

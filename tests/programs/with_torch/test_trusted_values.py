"""The replay refuses values that torch's CPU kernels trust without a check.

Each of these wrote beyond its output, into another tensor or the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from programs.replay.operators import called
from programs.tape.schema import AtenOp, TensorRef

CPU = torch.device("cpu")


def call(name: str, *args: Any) -> Sequence[torch.Tensor]:
    tensors: list[torch.Tensor] = []

    def written(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        tensors.append(value)
        return TensorRef(len(tensors) - 1)

    op = AtenOp(name, tuple(map(written, args)), {}, (), "run", None)
    return called(op, lambda id_: tensors[id_], CPU)


def loss_of_rows(target: list[int]) -> Sequence[torch.Tensor]:
    scores = torch.randn(len(target), 3)
    given = (torch.tensor(1.0), scores, torch.tensor(target), None, 1, -100, torch.tensor(2.0))
    return call("aten.nll_loss_backward.default", *given)


def loss_of_images(target: list[int]) -> Sequence[torch.Tensor]:
    scores = torch.randn(1, 3, 1, len(target))
    classes = torch.tensor(target).reshape(1, 1, -1)
    given = (torch.tensor(1.0), scores, classes, None, 1, -100, torch.tensor(2.0))
    return call("aten.nll_loss2d_backward.default", *given)


def unpooled(indices: list[int]) -> Sequence[torch.Tensor]:
    shape = (1, 1, len(indices))
    given = torch.ones(shape), torch.tensor(indices).reshape(shape), (2, 2)
    return call("aten.max_unpool2d.default", *given)


@pytest.mark.parametrize("loss", [loss_of_rows, loss_of_images])
@pytest.mark.parametrize("target", [[0, 3], [-1, 0], [1, 1 << 40]])
def test_a_gradient_is_written_for_classes_that_there_are(loss: Any, target: list[int]) -> None:
    with pytest.raises(IndexError, match="target is out of range"):
        loss(target)


@pytest.mark.parametrize("loss", [loss_of_rows, loss_of_images])
@pytest.mark.parametrize("target", [[0, 2], [-100, 1], [-100, -100]])
def test_what_is_to_be_ignored_is_no_class(loss: Any, target: list[int]) -> None:
    (gradient,) = loss(target)

    assert int((gradient != 0).sum()) == sum(index >= 0 for index in target)


@pytest.mark.parametrize("indices", [[0, 4], [-1, 0]])
def test_elements_are_put_back_where_there_are_any(indices: list[int]) -> None:
    with pytest.raises(IndexError, match="indices is out of range"):
        unpooled(indices)

"""Records the checks of values that torch makes on real tensors only.

`one_hot` of a fake tensor becomes comparisons, which accept a class that is out of range.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from programs.recorder.recording import current


def install() -> None:
    """Replace `torch.nn.functional.one_hot` by one that records its check of the classes."""
    functional: Any = torch.nn.functional
    functional.one_hot = _checked_one_hot(functional.one_hot)


def _checked_one_hot(real: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(real)
    def one_hot(tensor: Any, num_classes: int = -1) -> Any:
        recording = current()
        encoded = real(tensor, num_classes)
        if recording is None or recording.muted or not isinstance(tensor, FakeTensor):
            return encoded
        if num_classes > 0 and tensor.numel():
            is_class = (tensor >= 0) & (tensor < num_classes)
            torch._assert_async(
                is_class.all(), f"one_hot: class values must be from 0 to {num_classes - 1}"
            )
        return encoded

    return one_hot

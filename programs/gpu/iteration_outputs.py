"""Compares each timed run's outputs with the checked ones, bit for bit.

While a program is timed, its device's memory holds no expected outputs: keyed digests represent the
checked outputs. This uses torch, but no CUDA API.
"""

from collections.abc import Callable, Mapping, Sequence

import torch

from programs.replay.live_tensors import in_order

Digests = Callable[[Sequence[torch.Tensor]], Sequence[int]]
"""Returns a number for each tensor; only equal elements give equal numbers."""
Checked = Mapping[int, Sequence[int]]
"""The digests of the checked outputs, by call, so that no copy of them is needed."""


class IterationOutputs:
    """Counts runs whose outputs differ from the checked ones."""

    def __init__(self, checked: Checked, digests: Digests) -> None:
        self._checked, self._digests = checked, digests
        self._runs = self._differing = 0

    def compare(self, call: int, outputs: Sequence[torch.Tensor]) -> None:
        """Compare a finished run."""
        self._runs += 1
        self._differing += list(self._digests(outputs)) != list(self._checked[call])

    def report(self) -> dict[str, int]:
        """Return the fields of `timing` about all runs."""
        return {"checked_repeats": self._runs, "differing_repeats": self._differing}


def octets_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bytes of a tensor's elements in C order, without a copy if possible."""
    if not tensor.numel():
        return torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return in_order(tensor).view(torch.uint8)

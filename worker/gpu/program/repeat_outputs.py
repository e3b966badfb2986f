"""Whether each timed run left what the checked one did, bit for bit, and what some of them left.

Those that are sent are chosen when a run is over, by chance and by how much they differ, so nothing
that a kernel does can depend on it. Knows torch, and no CUDA.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

import torch

from worker.gpu.evidence.repeat_selection import PLACES, RepeatSelection
from worker.gpu.evidence.timed_repeat import TimedRepeat

MOST_SENT_BYTES = 256 << 20
"""Of the outputs of all repeats that are sent; those of one are sent whatever they take."""
_PIECE_BYTES = 64 << 20
"""Compared at a time, as a comparison takes memory of its own."""
SendTensor = Callable[[str, torch.Tensor], None]
"""Sends a tensor's elements, in C order, as a stage of this name."""


class RepeatOutputs:
    """Holds the outputs of runs against `checked`, those of each call by position."""

    def __init__(self, checked: Mapping[int, Sequence[torch.Tensor]], chance: Random) -> None:
        self._checked = checked
        self._selection = RepeatSelection(chance)
        self._calls: list[int] = []
        self._differing: list[int] = []
        sizes = [sum(map(_size_bytes, outputs)) for outputs in checked.values()]
        self._places = max(1, min(PLACES, MOST_SENT_BYTES // max(1, *sizes)))
        self._kept: dict[int, list[torch.Tensor]] = {}

    @property
    def kept_bytes(self) -> int:
        """The most that copies of chosen outputs take."""
        return self._places * max(sum(map(_size_bytes, one)) for one in self._checked.values())

    def see(self, call: int, outputs: Sequence[torch.Tensor]) -> None:
        """Compare a run that is over, and keep what it left if it is chosen."""
        pairs = zip(outputs, self._checked[call], strict=True)
        differing = sum(differing_bytes(one, other) for one, other in pairs)
        repeat = TimedRepeat(len(self._calls), differing_bytes=differing)
        self._calls.append(call)
        self._differing.append(differing)
        for place in self._selection.offer(repeat):
            self._kept[place] = [one.clone() for one in outputs]
        self._drop()

    def report(self, send: SendTensor) -> dict[str, object]:
        """Send what the chosen runs left; return what the result says of all."""
        told: list[dict[str, int]] = []
        for place, repeat in self._selection.chosen.items():
            if place not in self._kept:
                continue
            for position, output in enumerate(self._kept[place]):
                send(f"repeat-{len(told)}:{position}", output)
            call = self._calls[repeat.repeat]
            told.append(
                {
                    "repeat": repeat.repeat,
                    "call": call,
                    "differing_bytes": repeat.differing_bytes,
                }
            )
        return {
            "checked_repeats": len(self._calls),
            "differing_repeats": sum(one > 0 for one in self._differing),
            "repeats": told,
        }

    def _drop(self) -> None:
        """Keep no more than may be sent: the one that differs most, then those drawn first."""
        chosen = self._selection.chosen
        self._kept = {place: kept for place, kept in self._kept.items() if place in chosen}
        worst = max(chosen, key=lambda place: (chosen[place].differing_bytes, -place))
        first = [worst, *(place for place in chosen if place != worst)][: self._places]
        self._kept = {place: self._kept[place] for place in first if place in self._kept}


def differing_bytes(one: torch.Tensor, other: torch.Tensor) -> int:
    """Return how many bytes of two tensors of one type and shape differ."""
    left, right = _octets(one), _octets(other)
    found = 0
    for start in range(0, left.numel(), _PIECE_BYTES):
        pieces = (side[start : start + _PIECE_BYTES] for side in (left, right))
        found += int(torch.ne(*pieces).sum())
    return found


def _octets(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bytes of a tensor's elements in C order."""
    if not tensor.numel():
        return torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return tensor.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)


def _size_bytes(tensor: torch.Tensor) -> int:
    size_bytes: int = tensor.numel() * tensor.itemsize
    return size_bytes

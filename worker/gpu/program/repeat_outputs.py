"""Whether each timed run left what the checked one did, bit for bit, and what some of them left.

While a program is timed no memory of its device holds what it is to return: checked outputs are
known by digests with a secret, and what chosen runs left lies on the host. They are chosen when a
run is over, by chance, and one that differs; nothing that a kernel does can depend on it. Knows
torch, and no CUDA.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from random import Random

import torch

from worker.gpu.evidence.repeat_selection import PLACES, RepeatSelection
from worker.gpu.evidence.timed_repeat import TimedRepeat

MOST_SENT_BYTES = 256 << 20
"""Of the outputs of all repeats that are sent: none is, where those of one take more."""
_WORD_BYTES = 8
_PIECE_WORDS = 4 << 20
"""Of which a digest is made at a time, as it takes memory of its own."""
SendTensor = Callable[[str, torch.Tensor], None]
"""Sends a tensor's elements, in C order, as a stage of this name."""
Checked = Mapping[int, Sequence[torch.Tensor]]
"""By call, the outputs that were checked."""


class RepeatOutputs:
    """Holds what runs leave against `checked`, which is not needed any more once this is made."""

    def __init__(self, checked: Checked, chance: Random) -> None:
        self._secret = int.from_bytes(os.urandom(7), "little")
        self._checked = {call: self._digests(outputs) for call, outputs in checked.items()}
        self._selection = RepeatSelection(chance)
        self._calls: list[int] = []
        self._differing: list[bool] = []
        sizes = [sum(map(_size_bytes, outputs)) for outputs in checked.values()]
        self._places = min(PLACES, MOST_SENT_BYTES // max(1, *sizes))
        self._kept: dict[int, list[torch.Tensor]] = {}
        """By repeat, what it left."""

    def see(self, call: int, outputs: Sequence[torch.Tensor]) -> None:
        """Compare a run that is over, and keep what it left if it is chosen."""
        found = self._digests(outputs)
        pairs = zip(found, self._checked[call], outputs, strict=True)
        differing = sum(_size_bytes(tensor) for one, other, tensor in pairs if one != other)
        repeat = TimedRepeat(len(self._calls), differing_bytes=differing)
        self._calls.append(call)
        self._differing.append(differing > 0)
        if self._selection.offer(repeat) and self._places:
            self._kept[repeat.repeat] = [_on_host(one) for one in outputs]
            self._drop()

    def report(self, send: SendTensor) -> dict[str, object]:
        """Send what the chosen runs left; return what the result says of all."""
        told: list[dict[str, object]] = []
        for number, left in sorted(self._kept.items()):
            for position, output in enumerate(left):
                send(f"repeat-{len(told)}:{position}", output)
            told.append(
                {
                    "repeat": number,
                    "call": self._calls[number],
                    "differs": self._differing[number],
                }
            )
        return {
            "checked_repeats": len(self._calls),
            "differing_repeats": sum(self._differing),
            "repeats": told,
        }

    def _digests(self, outputs: Sequence[torch.Tensor]) -> list[int]:
        return [digest(one, self._secret) for one in outputs]

    def _drop(self) -> None:
        """Keep no more than may be sent: the first that differs, if any does, then the latest."""
        chosen = self._selection.chosen.values()
        order = sorted(chosen, key=lambda one: (-one.differing_bytes, -one.repeat))
        first = min(order, key=lambda one: (-one.differing_bytes, one.repeat))
        wanted = [first, *order] if first.differing_bytes else order
        numbers = list(dict.fromkeys(one.repeat for one in wanted))[: self._places]
        self._kept = {number: self._kept[number] for number in numbers if number in self._kept}


def digest(tensor: torch.Tensor, secret: int) -> int:
    """Return a number that is another for other elements, but for one chance in 2^32 at most.

    It is the sum of all halves of words, each times a factor that follows from the secret and its
    place, modulo 2^64.
    """
    octets = _octets(tensor)
    chance = torch.Generator(octets.device)
    chance.manual_seed(secret)
    found = 0
    for start in range(0, octets.numel(), _PIECE_WORDS * _WORD_BYTES):
        piece = octets[start : start + _PIECE_WORDS * _WORD_BYTES]
        missing = -piece.numel() % _WORD_BYTES
        words = torch.nn.functional.pad(piece, (0, missing)).view(torch.int64)
        low, high = words & 0xFFFFFFFF, words >> 32
        for half in (low, high):
            factors = torch.randint(
                -(2**63), 2**63 - 1, half.shape, generator=chance, device=octets.device
            )
            found += int((half * factors).sum())
    return found % (1 << 64)


def _octets(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bytes of a tensor's elements in C order."""
    if not tensor.numel():
        return torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return tensor.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)


def _on_host(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy in the host's memory."""
    return torch.empty_like(tensor, device="cpu").copy_(tensor)


def _size_bytes(tensor: torch.Tensor) -> int:
    size_bytes: int = tensor.numel() * tensor.itemsize
    return size_bytes

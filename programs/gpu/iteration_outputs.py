"""Whether each timed run left what the checked one did, bit for bit, and what some of them left.

While a program is timed no memory of its device holds what it is to return: checked outputs are
known by digests with a secret, and what chosen runs left lies on the host. They are chosen by
chance, and one that differs; nothing that a kernel does can depend on it. Knows torch, and no CUDA.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Protocol

import torch

from programs.replay.live_tensors import in_order

MOST_SENT_BYTES = 256 << 20
"""Of the outputs of all repeats that are sent: none is, where those of one take more."""
_DRAWN = 3
_DIFFERING = 2
"""Of those that differ, the first and the worst."""
Digests = Callable[[Sequence[torch.Tensor]], Sequence[int]]
"""Returns a number for each tensor that only the same elements have in common."""
Checked = Mapping[int, Sequence[int]]
"""By call, the digests of the outputs that were checked: no copy of them is needed."""


class HeldOutput(Protocol):
    """The elements of a tensor as they were, in the host's memory."""

    def send(self, stage: str) -> None:
        """Send them as a stage of this name."""
        ...

    def drop(self) -> None:
        """Let go of them."""
        ...


Hold = Callable[[torch.Tensor], HeldOutput]
"""Copies a tensor's elements, in C order, into the host's memory."""


class IterationOutputs:
    """Holds what runs leave against `checked`. To be closed."""

    def __init__(
        self, checked: Checked, chance: Random, digests: Digests, hold: Hold | None
    ) -> None:
        """`hold` None: nothing is sent."""
        self._checked = checked
        self._digests, self._hold = digests, hold
        self._chance = chance
        self._calls: list[int] = []
        self._differing_bytes: list[int] = []
        self._worst: list[int] = []
        """The repeat that differs by most, and the first that does."""
        self._places = _DRAWN + _DIFFERING if hold is not None else 0
        self._expected = 0
        self._drawn: list[int] = []
        """The repeats that are kept by chance, as far as runs are expected."""
        self._kept: dict[int, list[HeldOutput]] = {}
        """By repeat, what it left."""

    def expect(self, count: int) -> None:
        """Draw which of the next runs are kept: of all in the end, each as likely as any other.

        Drawn ahead, what others would take the place of is not copied; the device is not told.
        """
        for iteration in range(self._expected, self._expected + count):
            place = iteration if iteration < _DRAWN else self._chance.randrange(iteration + 1)
            if place < _DRAWN:
                self._drawn[place : place + 1] = [iteration]
        self._expected += count

    def see(self, call: int, outputs: Sequence[torch.Tensor]) -> None:
        """Compare a run that is over, and keep what it left if it is chosen."""
        found = self._digests(outputs)
        sizes = [one.numel() * one.itemsize for one in outputs]
        pairs = zip(found, self._checked[call], sizes, strict=True)
        differing = sum(size for one, other, size in pairs if one != other)
        self._places = min(self._places, MOST_SENT_BYTES // max(1, sum(sizes)))
        iteration = len(self._calls)
        self._calls.append(call)
        self._differing_bytes.append(differing)
        if iteration == self._expected:
            self.expect(1)
        if differing and (not self._worst or differing > self._differing_bytes[self._worst[0]]):
            self._worst = [iteration, *self._worst[-1:]]
        if self._hold is not None and iteration in self._chosen():
            self._kept[iteration] = []
            for one in outputs:
                self._kept[iteration].append(self._hold(one))
            self._drop(self._kept.keys() - set(self._chosen()))

    def report(self) -> dict[str, object]:
        """Send what the chosen runs left; return what the result says of all."""
        compared: list[dict[str, object]] = []
        for number, left in sorted(self._kept.items()):
            for position, output in enumerate(left):
                output.send(f"repeat-{len(compared)}:{position}")
            compared.append(
                {
                    "repeat": number,
                    "call": self._calls[number],
                    "differs": self._differing_bytes[number] > 0,
                }
            )
        return {
            "checked_repeats": len(self._calls),
            "differing_repeats": sum(one > 0 for one in self._differing_bytes),
            "repeats": compared,
        }

    def close(self) -> None:
        """Let go of what is kept."""
        self._drop(set(self._kept))

    def _drop(self, repeats: set[int]) -> None:
        for iteration in repeats:
            for one in self._kept.pop(iteration):
                one.drop()

    def _chosen(self) -> list[int]:
        """Return the repeats that are kept, no more than may be sent; those that differ first."""
        chosen = list(dict.fromkeys([*self._worst, *sorted(self._drawn, reverse=True)]))
        return chosen[: self._places]


def octets_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bytes of a tensor's elements in C order, where they lie if they lie so."""
    if not tensor.numel():
        return torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return in_order(tensor).view(torch.uint8)

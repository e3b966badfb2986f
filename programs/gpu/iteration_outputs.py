"""Compares each timed run's outputs with the checked ones, bit for bit, and keeps some of them.

While a program is timed, its device's memory holds no expected outputs: keyed digests represent the
checked outputs, and the outputs of chosen runs lie on the host. Runs are chosen at random, plus
runs that differ, so a kernel cannot know them. This uses torch, but no CUDA API.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Protocol

import torch

from programs.replay.live_tensors import in_order

MOST_SENT_BYTES = 256 << 20
"""Limit of the outputs of all sent runs; none is sent if those of one run exceed it."""
_DRAWN = 3
_DIFFERING = 2
"""The number of differing runs to keep: the first and the worst."""
Digests = Callable[[Sequence[torch.Tensor]], Sequence[int]]
"""Returns a number for each tensor; only equal elements give equal numbers."""
Checked = Mapping[int, Sequence[int]]
"""The digests of the checked outputs, by call, so that no copy of them is needed."""


class HeldOutput(Protocol):
    """The elements of a tensor as they were, in the host's memory."""

    def send(self, stage: str) -> None:
        """Send them as a stage of this name."""
        ...

    def drop(self) -> None:
        """Free them."""
        ...


Hold = Callable[[torch.Tensor], HeldOutput]
"""Copies a tensor's elements, in C order, to the host."""


class IterationOutputs:
    """Compares the outputs of runs with `checked`. Call `close` at the end."""

    def __init__(
        self, checked: Checked, chance: Random, digests: Digests, hold: Hold | None
    ) -> None:
        """If `hold` is None, no outputs are sent."""
        self._checked = checked
        self._digests, self._hold = digests, hold
        self._chance = chance
        self._calls: list[int] = []
        self._differing_bytes: list[int] = []
        self._worst: list[int] = []
        """The run that differs most, and the first that differs."""
        self._places = _DRAWN + _DIFFERING if hold is not None else 0
        self._expected = 0
        self._drawn: list[int] = []
        """The randomly chosen runs, among the expected ones."""
        self._kept: dict[int, list[HeldOutput]] = {}
        """The kept outputs, by the number of the run."""

    def expect(self, count: int) -> None:
        """Choose at random which of the next runs to keep; in the end each run is equally likely.

        Choosing ahead saves copies that later runs would replace. The device never learns of it.
        """
        for iteration in range(self._expected, self._expected + count):
            place = iteration if iteration < _DRAWN else self._chance.randrange(iteration + 1)
            if place < _DRAWN:
                self._drawn[place : place + 1] = [iteration]
        self._expected += count

    def compare(self, call: int, outputs: Sequence[torch.Tensor]) -> None:
        """Compare a finished run, and keep its outputs if it is chosen."""
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
        """Send the outputs of the chosen runs; return the result's fields about all runs."""
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
        """Free the kept outputs."""
        self._drop(set(self._kept))

    def _drop(self, repeats: set[int]) -> None:
        for iteration in repeats:
            for one in self._kept.pop(iteration):
                one.drop()

    def _chosen(self) -> list[int]:
        """Return the runs to keep, up to the limit; those that differ come first."""
        chosen = list(dict.fromkeys([*self._worst, *sorted(self._drawn, reverse=True)]))
        return chosen[: self._places]


def octets_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bytes of a tensor's elements in C order, without a copy if possible."""
    if not tensor.numel():
        return torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return in_order(tensor).view(torch.uint8)

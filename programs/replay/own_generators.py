"""A program's own random generators, on the device of a replay: each is made at its first use."""

from __future__ import annotations

from collections.abc import Mapping

import torch

GeneratorStates = Mapping[int, torch.Tensor]

_SEEDS = 1 << 64


def seed_torch(seed: int, device: torch.device) -> None:
    """Seed the generators that torch draws from on the host and on `device`.

    `torch.manual_seed` also asks for every other kind of device, and of those that were never used
    keeps the wish for ever: a process that lives gets slower and larger by it. Behind the last seed
    there is comes the first.
    """
    seed %= _SEEDS
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.default_generators[device.index or 0].manual_seed(seed)


class OwnGenerators:
    """Those of one run of a tape, by their numbers there."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._found: dict[int, torch.Generator] = {}

    def get(self, number: int) -> torch.Generator:
        """Return a generator, with the seed that torch gives new ones if nobody seeded it."""
        if number not in self._found:
            self._found[number] = torch.Generator(self._device)
        return self._found[number]

    def seed(self, number: int | None, seed: int) -> None:
        """Seed a generator; None: torch itself."""
        if number is None:
            seed_torch(seed, self._device)
        else:
            self.get(number).manual_seed(seed)

    def states(self) -> GeneratorStates:
        """Return how far each has come, for `restore`."""
        return {number: one.get_state() for number, one in self._found.items()}

    def restore(self, states: GeneratorStates) -> None:
        """Put each back; one that was made since is made again at its next use."""
        self._found = {number: self._found[number] for number in states}
        for number, state in states.items():
            self._found[number].set_state(state)

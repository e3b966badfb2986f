"""The random generators of a run of a tape, on the one device of its replay.

torch has a generator for each kind of device. A replay has one device for the tensors of both, so
it keeps how far the other kind's has come.
"""

from __future__ import annotations

import torch

from programs.tape.overload_effects import drawing_device
from programs.tape.schema import AtenOp, Device, Seeding, Tape, generators_of

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


class RandomGenerators:
    """torch's generators for tensors that the tape has on `cpu` and on `cuda`, and a program's own.

    A program's own are known by their numbers on the tape, and each is made at its first use.
    """

    def __init__(self, tape: Tape, device: torch.device, draws_for: Device = "cuda") -> None:
        """`draws_for` is the kind of device that torch's generator draws for at first."""
        self._tape, self._device = tape, device
        self._found: dict[int, torch.Generator] = {}
        self._draws_for = draws_for
        self._aside: int | torch.Tensor | None = None
        """The other kind's generator: the seed that it had last, or its state."""

    def begin(self, seed: int) -> None:
        """Seed torch's generators, as each phase does."""
        seed_torch(seed, self._device)
        self._aside = seed

    def get(self, number: int) -> torch.Generator:
        """Return a program's own, with the seed that torch gives new ones if nothing seeded it."""
        if number not in self._found:
            self._found[number] = torch.Generator(self._device)
        return self._found[number]

    def seed(self, op: Seeding) -> None:
        """Do what the program did."""
        if op.generator is not None:
            self.get(op.generator).manual_seed(op.seed)
            return
        if op.device in (None, self._draws_for):
            seed_torch(op.seed, self._device)
        if op.device != self._draws_for:
            self._aside = op.seed

    def make_ready(self, op: AtenOp) -> None:
        """Have torch draw what `op` draws from the generator of the tape's device."""
        device = drawing_device(op, self._tape)
        if device in (None, self._draws_for) or generators_of(op):
            return
        torchs = self._torchs()
        state, aside = torchs.get_state(), self._aside
        if isinstance(aside, torch.Tensor):
            torchs.set_state(aside)
        elif aside is not None:
            seed_torch(aside, self._device)
        self._draws_for, self._aside = device, state

    def _torchs(self) -> torch.Generator:
        if self._device.type == "cuda":
            return torch.cuda.default_generators[self._device.index or 0]
        return torch.default_generator

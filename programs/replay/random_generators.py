"""The random generators of a replay, all on its one device.

torch has a default generator for each kind of device. A replay uses one for both kinds of a tape,
and swaps their states.
"""

import torch

from programs.tape.overload_effects import drawing_device
from programs.tape.schema import AtenOp, Device, Seeding, Tape, generators_of

_SEEDS = 1 << 64


def seed_torch(seed: int, device: torch.device) -> None:
    """Seed torch's default generators of the host and of `device`, with `seed` modulo 2**64.

    Not `torch.manual_seed`: that queues a call for each kind of device that was never used, and
    keeps them all, so a long-lived process gets slower and larger.
    """
    seed %= _SEEDS
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.default_generators[device.index or 0].manual_seed(seed)


class RandomGenerators:
    """The default generators for `cpu` and `cuda` tensors of a tape, and the program's generators.

    A program's generators have numbers on the tape. Each is made at its first use.
    """

    def __init__(self, tape: Tape, device: torch.device, draws_for: Device = "cuda") -> None:
        """`draws_for` is the kind of device whose state torch's generator has at first."""
        self._tape, self._device = tape, device
        self._found: dict[int, torch.Generator] = {}
        self._draws_for = draws_for
        self._aside: int | torch.Tensor | None = None
        """The state of the other kind's generator, or its seed if it has drawn nothing since."""

    def begin(self, seed: int) -> None:
        """Seed torch's generators, as each phase does."""
        seed_torch(seed, self._device)
        self._aside = seed

    def get(self, number: int) -> torch.Generator:
        """Return a generator of the program, with torch's default seed if it was never seeded."""
        if number not in self._found:
            self._found[number] = torch.Generator(self._device)
        return self._found[number]

    def seed(self, op: Seeding) -> None:
        """Repeat a seeding of the program."""
        if op.generator is not None:
            self.get(op.generator).manual_seed(op.seed)
            return
        if op.device in (None, self._draws_for):
            seed_torch(op.seed, self._device)
        if op.device != self._draws_for:
            self._aside = op.seed

    def make_ready(self, op: AtenOp) -> None:
        """Give torch's generator the state for the tape's device of `op`, if `op` draws."""
        device = drawing_device(op, self._tape)
        if device in (None, self._draws_for) or generators_of(op):
            return
        default = self._default_generator()
        state, aside = default.get_state(), self._aside
        if isinstance(aside, torch.Tensor):
            default.set_state(aside)
        elif aside is not None:
            seed_torch(aside, self._device)
        self._draws_for, self._aside = device, state

    def _default_generator(self) -> torch.Generator:
        if self._device.type == "cuda":
            return torch.cuda.default_generators[self._device.index or 0]
        return torch.default_generator

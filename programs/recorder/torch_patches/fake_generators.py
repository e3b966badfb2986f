"""Replaces `torch.Generator`: each generator has a number, and the tape has its seeds.

The replay makes one generator for each, so that a program draws the numbers that it would draw.
"""

import sys
from typing import Any, NoReturn, Self

import torch

from programs.recorder.record_order import NotRecordable
from programs.recorder.recording import current, refused


class ProgramGenerator(torch._C.Generator):  # type: ignore[misc]
    """A generator that a program made. Ops on fake tensors draw nothing from it."""

    _device: torch.device

    def __new__(cls, device: Any = "cpu") -> Self:
        """Make a generator for any device."""
        made: Self = super().__new__(cls, "cpu")
        made._device = torch.device(device)
        recording = current()
        if recording is not None:
            try:
                recording.tape.add_generator(made)
            except NotRecordable as refusal:
                raise recording.noted(refusal) from None
        return made

    @property
    def device(self) -> torch.device:
        """The device of the numbers that it draws."""
        return self._device

    def manual_seed(self, seed: int) -> Self:
        """Seed it, and write the seeding to the tape."""
        recording = current()
        if recording is not None and not recording.muted:
            try:
                own = recording.tape.value(self)
                recording.tape.write({"op": "seed", "seed": int(seed), **own})
            except NotRecordable as refusal:
                raise recording.noted(refusal) from None
        super().manual_seed(int(seed))
        return self

    def seed(self) -> NoReturn:
        """Refuse a seed that would differ in each run."""
        refused("random_state", "torch.Generator.seed() differs in each run: use manual_seed")

    def get_state(self) -> NoReturn:
        """Refuse, as only the replay has the state."""
        refused("random_state", "it reads the state of a torch.Generator")

    graphsafe_get_state = clone_state = get_state

    def set_state(self, _: Any) -> NoReturn:
        """Refuse, as a recording has no states."""
        refused("random_state", "it sets the state of a torch.Generator")

    graphsafe_set_state = set_offset = set_state


class DefaultGenerator(ProgramGenerator):
    """Replaces `torch.default_generator`, which CPU ops draw from."""

    def manual_seed(self, seed: int) -> Self:
        """Seed it, and write the seeding, unless `torch.manual_seed` calls and writes it."""
        recording = current()
        is_from_torch = sys._getframe(1).f_code.co_filename.endswith("torch/random.py")
        if recording is not None and not recording.muted and not is_from_torch:
            recording.draws += 1
            try:
                recording.tape.write({"op": "seed", "seed": int(seed), "device": "cpu"})
            except NotRecordable as refusal:
                raise recording.noted(refusal) from None
        torch._C.Generator.manual_seed(self, int(seed))
        return self

    def initial_seed(self) -> NoReturn:
        """Refuse, as the replay has another seed."""
        refused("random_state", "it reads the seed of torch's random generator")


def check_device(generator: Any, device: torch.device) -> None:
    """Raise torch's `RuntimeError` for an op with a generator of another device."""
    if isinstance(generator, ProgramGenerator) and generator.device.type != device.type:
        raise RuntimeError(
            f"Expected a '{device.type}' device type for generator but found "
            f"'{generator.device.type}'"
        )


def install() -> None:
    """Replace torch's generators."""
    torch.Generator = ProgramGenerator
    module: Any = torch.random
    torch.default_generator = module.default_generator = DefaultGenerator()

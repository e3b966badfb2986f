"""What `torch.Generator` makes in a recording: generators with numbers, whose seeds are written.

The replay has one of its own for each, so that a program draws what it would draw.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn, Self

import torch

from programs.recorder.not_recordable import NotRecordable
from programs.recorder.recording import current, refused


class OwnGenerator(torch._C.Generator):  # type: ignore[misc]
    """A generator of a program: on fake tensors nothing is drawn from it."""

    _device: torch.device

    def __new__(cls, device: Any = "cpu") -> Self:
        """Make one for any device."""
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
        """The device that it was made for."""
        return self._device

    def manual_seed(self, seed: int) -> Self:
        """Seed it, and write that down."""
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
        """Refuse: no two are alike."""
        refused("random_state", "the seed that a torch.Generator finds itself is never the same")

    def get_state(self) -> NoReturn:
        """Refuse: how far it has come is known to the replay alone."""
        refused("random_state", "it asks for the state of a torch.Generator")

    graphsafe_get_state = clone_state = get_state

    def set_state(self, _: Any) -> NoReturn:
        """Refuse."""
        refused("random_state", "it sets the state of a torch.Generator")

    graphsafe_set_state = set_offset = set_state


class TorchsGenerator(OwnGenerator):
    """What `torch.default_generator` is, which tensors of the CPU are drawn from."""

    def manual_seed(self, seed: int) -> Self:
        """Seed it, and write that down, but where `torch.manual_seed` does so itself."""
        recording = current()
        is_torchs = sys._getframe(1).f_code.co_filename.endswith("torch/random.py")
        if recording is not None and not recording.muted and not is_torchs:
            recording.draws += 1
            try:
                recording.tape.write({"op": "seed", "seed": int(seed), "device": "cpu"})
            except NotRecordable as refusal:
                raise recording.noted(refusal) from None
        torch._C.Generator.manual_seed(self, int(seed))
        return self

    def initial_seed(self) -> NoReturn:
        """Refuse: the replay has another."""
        refused("random_state", "it asks for the seed of torch's random generator")


def check_device(generator: Any, device: torch.device) -> None:
    """Raise what torch raises where a generator of another device is drawn from."""
    if isinstance(generator, OwnGenerator) and generator.device.type != device.type:
        raise RuntimeError(
            f"Expected a '{device.type}' device type for generator but found "
            f"'{generator.device.type}'"
        )


def install() -> None:
    """Give programs such generators."""
    torch.Generator = OwnGenerator
    module: Any = torch.random
    torch.default_generator = module.default_generator = TorchsGenerator()

"""What a program draws plain numbers with while it is recorded: `random`, and NumPy's generator."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from programs.recorder.recording import Recording


def seed_plain_numbers(seed: int) -> None:
    """Seed both, so that two recordings are alike."""
    random.seed(seed)
    np.random.seed(seed % 2**32)


@contextmanager
def inputs_drawn(recording: Recording) -> Iterator[None]:
    """Let the block draw from the order's `inputs_seed`, and go on behind it as before.

    A candidate is recorded from the same seed as its reference, since both may draw weights. It
    could draw the reference's inputs, too, if these came from that seed. Notes whether the block
    drew anything.
    """
    seed = recording.order.inputs_seed
    if seed is None:
        yield
        return
    before = random.getstate(), np.random.get_state()
    seed_plain_numbers(seed)
    begun = _states()
    try:
        yield
        recording.draws_inputs = _states() != begun
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])


def _states() -> tuple[object, ...]:
    """Return how far both have come, as what can be compared."""
    numbers: Any = np.random.get_state()
    return random.getstate(), bytes(numbers[1]), *numbers[2:]

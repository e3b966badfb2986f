"""Seeds `random` and NumPy's generator, from which a program may draw while it is recorded."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from programs.recorder.recording import Recording


def seed_python_random(seed: int) -> None:
    """Seed both, so that two recordings are equal."""
    random.seed(seed)
    np.random.seed(seed % 2**32)


@contextmanager
def drawing_inputs(recording: Recording) -> Iterator[None]:
    """Use the order's `inputs_seed` in the block, and restore both generators after it.

    A candidate is recorded with the seed of its reference, as both may draw weights. If inputs came
    from that seed, a candidate could draw the reference's inputs. Sets `recording.draws_inputs` if
    the block drew numbers.
    """
    seed = recording.order.inputs_seed
    if seed is None:
        yield
        return
    before = random.getstate(), np.random.get_state()
    seed_python_random(seed)
    begun = _states()
    try:
        yield
        recording.draws_inputs = _states() != begun
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])


def _states() -> tuple[object, ...]:
    """Return the states of both as comparable values."""
    numbers: Any = np.random.get_state()
    return random.getstate(), bytes(numbers[1]), *numbers[2:]

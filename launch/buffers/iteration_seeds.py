"""The seeds of a timed repeat with separate inputs.

Worker and launcher make them of one number that the worker draws for each launch, after the kernel
was sent: nobody can have prepared for these values. Whoever is told a repeat's seeds can post it as
a launch of its own.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

Allocation = Mapping[str, Any]
"""A bound allocation in canonical JSON."""
_BITS = 53  # every JSON reader keeps them


def iteration_seed(seed: int, iteration: int, name: str) -> int:
    """Return the seed of the random argument `name` in a repeat of a launch with `seed`."""
    digest = sha256(f"{seed}/{iteration}/{name}".encode()).digest()
    return int.from_bytes(digest[:8], "little") & ((1 << _BITS) - 1)


def iteration_seeds(allocations: Sequence[Allocation], seed: int, iteration: int) -> dict[str, int]:
    """Return the seeds of all random arguments in a repeat, by name."""
    return {
        one["name"]: iteration_seed(seed, iteration, one["name"])
        for one in allocations
        if one["init"] is not None and "seed" in one["init"]
    }

"""The seeds of a timed iteration with fresh inputs.

Worker and launcher derive them from one random number, which the worker draws for each launch after
it received the kernel. So no kernel can anticipate these inputs. A user can reproduce an iteration:
post its seeds in a new launch.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

Allocation = Mapping[str, Any]
"""A bound allocation in canonical JSON."""
_BITS = 53  # the integers that every JSON reader preserves


def iteration_seed(seed: int, iteration: int, name: str) -> int:
    """Return the seed of the random argument `name` in an iteration of a launch with `seed`."""
    digest = sha256(f"{seed}/{iteration}/{name}".encode()).digest()
    return int.from_bytes(digest[:8], "little") & ((1 << _BITS) - 1)


def iteration_seeds(allocations: Sequence[Allocation], seed: int, iteration: int) -> dict[str, int]:
    """Return the seeds of all random arguments in an iteration, by name."""
    return {
        allocation["name"]: iteration_seed(seed, iteration, allocation["name"])
        for allocation in allocations
        if allocation["init"] is not None and "seed" in allocation["init"]
    }

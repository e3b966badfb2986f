"""Arguments that are not outputs: their contents before a kernel changed them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from launch.buffers.allocation import Allocation
from launch.buffers.element_types import Array


class ModifiedInputs:
    """Keeps a copy of each allocation that is no output, from the first write to it on."""

    def __init__(self, allocations: Sequence[Allocation]) -> None:
        self._allocations = allocations
        self._pristine: dict[int, Array] = {}

    def keep(self, index: int) -> None:
        """Keep what an allocation holds, before it is written to for the first time."""
        allocation = self._allocations[index]
        if not allocation.output and index not in self._pristine:
            self._pristine[index] = allocation.memory.copy()

    def changed(self) -> list[tuple[Allocation, Array]]:
        """Return the allocations that hold something else now, with the changed elements."""
        found = []
        for index, before in self._pristine.items():
            allocation = self._allocations[index]
            octets = allocation.memory.itemsize
            differs = before.view(np.uint8) != allocation.memory.view(np.uint8)
            elements = np.flatnonzero(differs.reshape(-1, octets).any(axis=1))
            if elements.size:
                found.append((allocation, elements))
        return found

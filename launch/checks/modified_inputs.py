"""Detects changes to arguments that are not outputs."""

from collections.abc import Sequence

import numpy as np

from launch.buffers.allocation import Allocation
from launch.buffers.element_types import Array


class ModifiedInputs:
    """Copies each allocation that is not an output before the first write to it."""

    def __init__(self, allocations: Sequence[Allocation]) -> None:
        self._allocations = allocations
        self._initial: dict[int, Array] = {}

    def keep(self, index: int) -> None:
        """Copy an allocation before the first write to it."""
        allocation = self._allocations[index]
        if not allocation.output and index not in self._initial:
            self._initial[index] = allocation.memory.copy()

    def changed(self) -> list[tuple[Allocation, Array]]:
        """Return the changed allocations with the elements that changed."""
        changed = []
        for index, before in self._initial.items():
            allocation = self._allocations[index]
            octets = allocation.memory.itemsize
            differs = before.view(np.uint8) != allocation.memory.view(np.uint8)
            elements = np.flatnonzero(differs.reshape(-1, octets).any(axis=1))
            if elements.size:
                changed.append((allocation, elements))
        return changed

"""Which elements of poisoned memory were stored to: a value alone cannot tell.

A kernel may mean the very bits of the poison, so stores are remembered where there is poison.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from launch.buffers import poison
from launch.buffers.allocation import Allocation, Leaf, view
from launch.buffers.element_types import Array
from launch.checks.addresses import Slot


class Marks:
    """One flag for every element of each output that was not filled as a whole."""

    def __init__(self, allocations: Sequence[Allocation], filled: Sequence[Array]) -> None:
        """Take for each allocation which of its elements have initial contents."""
        self._allocations = allocations
        self._stored = {
            index: filled[index].copy()
            for index, allocation in enumerate(allocations)
            if allocation.output and not filled[index].all()
        }

    def store(self, slot: Slot, addresses: Array, size: int) -> None:
        """Remember a store of `size` bytes at each of `addresses`."""
        stored = self._stored.get(slot.leaf.allocation)
        if stored is None:
            return
        item = self._allocations[slot.leaf.allocation].memory.itemsize
        offsets = (addresses - np.uint64(slot.first)).astype(np.int64)
        for byte in {*range(0, size, item), size - 1}:
            stored[(offsets + byte) // item] = True

    def unwritten(self, leaf: Leaf) -> Array | None:
        """Return which elements of an output, in C order, nobody wrote; None: it has no such.

        An atomic operation is no store: what one made of the poison is not the poison any more.
        """
        stored = self._stored.get(leaf.allocation)
        if stored is None:
            return None
        elements = view(self._allocations[leaf.allocation].memory, leaf)
        missing = ~view(stored, leaf).reshape(-1) & poison.unwritten(elements)
        return missing if missing.any() else None

"""What of poisoned memory was written: elements of outputs, and bytes that loads may read.

A value alone cannot tell, as a kernel may mean the very bits of the poison.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from launch.buffers import poison
from launch.buffers.allocation import Allocation, Leaf, view
from launch.buffers.element_types import Array
from launch.checks.addresses import Slot


class WrittenElements:
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


class WrittenBytes:
    """One flag for every byte of every allocation that was not filled as a whole."""

    def __init__(self, allocations: Sequence[Allocation], filled: Sequence[Array]) -> None:
        """Take for each allocation which of its elements have initial contents."""
        self._written = {
            index: np.repeat(filled[index], allocation.memory.itemsize)
            for index, allocation in enumerate(allocations)
            if not filled[index].all()
        }

    def write(self, slot: Slot, addresses: Array, size: int) -> None:
        """Remember a store of `size` bytes at each of `addresses`."""
        written = self._written.get(slot.leaf.allocation)
        if written is not None:
            offsets = (addresses - np.uint64(slot.first)).astype(np.int64)
            for byte in range(size):
                written[offsets + byte] = True

    def unwritten(self, slot: Slot, addresses: Array, size: int) -> int | None:
        """Return the first of `addresses` where a load of `size` bytes meets an unwritten one."""
        written = self._written.get(slot.leaf.allocation)
        if written is None:
            return None
        offsets = (addresses - np.uint64(slot.first)).astype(np.int64)
        missing = ~(written[offsets] & written[offsets + size - 1])
        return int(addresses[missing][0]) if missing.any() else None

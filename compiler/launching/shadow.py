"""Which bytes of poisoned memory were written, kept beside it to find reads of the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.launching.addresses import Slot
from compiler.launching.buffers import Allocation
from compiler.launching.dtypes import Array


class Shadow:
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

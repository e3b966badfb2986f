"""Records writes to poisoned memory: elements of outputs, and bytes that loads may read.

Accesses are given in cells: a cell is as wide as the access, and cell 0 starts at the allocation.
Values alone do not suffice, because a kernel may legitimately store the bits of the poison.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from launch.buffers import element_types
from launch.buffers.allocation import Allocation, Leaf, view
from launch.buffers.element_types import Array

Cells = Callable[[], Array]
"""A function that returns the cells of an access: one integer per lane."""


class WrittenElements:
    """One flag for every element of each output without complete initial contents.

    Only elements that hold the poison at the end are in question, so it records only stores of
    these bits: any other stored value does not look unwritten.
    """

    def __init__(self, allocations: Sequence[Allocation], filled: Sequence[Array]) -> None:
        """Set, for each allocation, the mask of elements with initial contents."""
        self._allocations = allocations
        self._stored = {
            index: filled[index].copy()
            for index, allocation in enumerate(allocations)
            if allocation.output and not filled[index].all()
        }

    def wants(self, allocation: int) -> bool:
        """Return True if stores to an allocation must be reported."""
        return allocation in self._stored

    def store(self, allocation: int, values: Array, cells: Cells) -> None:
        """Record a store of `values`, which broadcast to the shape of `cells`."""
        stored = self._stored.get(allocation)
        if stored is None:
            return
        memory, size = self._allocations[allocation].memory, values.itemsize
        width = min(memory.itemsize, size)
        parts = np.ascontiguousarray(values).view(f"u{width}")
        poisonous = parts == _filled_with(element_types.poison_of(memory.dtype), width)
        if not poisonous.any():
            return
        touched = cells()
        by_lane = poisonous.reshape(*values.shape, size // width)
        *lanes, places = np.nonzero(np.broadcast_to(by_lane, (*touched.shape, size // width)))
        octets = touched[tuple(lanes)].astype(np.int64) * size + places * width
        stored[octets // memory.itemsize] = True

    def written(self, allocation: int) -> Array | None:
        """Return a mask of an allocation's written elements; None: no store was reported."""
        stored = self._stored.get(allocation)
        if stored is None:
            return None
        written: Array = stored | ~element_types.unwritten(self._allocations[allocation].memory)
        return written

    def unwritten(self, leaf: Leaf) -> Array | None:
        """Return a mask, in C order, of an output's unwritten elements; None if all are written.

        Atomic operations need no record: their result no longer equals the poison.
        """
        stored = self._stored.get(leaf.allocation)
        if stored is None:
            return None
        elements = view(self._allocations[leaf.allocation].memory, leaf)
        missing = ~view(stored, leaf).reshape(-1) & element_types.unwritten(elements)
        return missing if missing.any() else None


class WrittenBytes:
    """One flag for every byte of every allocation without complete initial contents."""

    def __init__(self, allocations: Sequence[Allocation], filled: Sequence[Array]) -> None:
        """Set, for each allocation, the mask of elements with initial contents."""
        self._written = {
            index: np.repeat(filled[index], allocation.memory.itemsize).view(np.uint8)
            for index, allocation in enumerate(allocations)
            if not filled[index].all()
        }

    def wants(self, allocation: int) -> bool:
        """Return True if accesses to an allocation must be reported."""
        return allocation in self._written

    def write(self, allocation: int, cells: Array, size: int) -> None:
        """Record that `cells` of `size` bytes were written."""
        if allocation in self._written:
            self._flags(allocation, size)[cells] = _filled_with(1, size)

    def unwritten(self, allocation: int, cells: Array, size: int) -> Array | None:
        """Return a mask of the `cells` with an unwritten byte; None if all bytes are written."""
        if allocation not in self._written:
            return None
        missing = self._flags(allocation, size).take(cells) != _filled_with(1, size)
        return missing if missing.any() else None

    def _flags(self, allocation: int, size: int) -> Array:
        """Return the flags of all complete cells of `size` bytes, one number per cell."""
        octets = self._written[allocation]
        return octets[: octets.size // size * size].view(f"u{size}")


def _filled_with(byte: int, size: int) -> Any:
    """Return the unsigned integer whose `size` bytes are all `byte`."""
    return np.dtype(f"u{size}").type(int.from_bytes(bytes([byte]) * size, "little"))

"""Records the bytes that a launch read, stored to, and changed atomically.

Callers that compare launches use these records; this module reports no findings.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from launch.buffers.allocation import Allocation
from launch.buffers.element_types import Array
from launch.checks.access import Access
from launch.checks.written_memory import Cells


@dataclass(frozen=True)
class TouchedBytes:
    """One flag for each byte of an allocation."""

    read: Array
    stored: Array
    updated: Array

    def joined(self, other: TouchedBytes) -> TouchedBytes:
        """Return the union of both; their bytes start at the same address."""
        pairs = (
            (self.read, other.read),
            (self.stored, other.stored),
            (self.updated, other.updated),
        )
        return TouchedBytes(*(_either(*pair) for pair in pairs))


class TouchedMemory:
    """The accessed bytes of the watched allocations, by index."""

    def __init__(self, allocations: Sequence[Allocation], watched: Collection[int]) -> None:
        self._flags = {index: _none_of(allocations[index].memory.nbytes) for index in watched}

    def note(self, allocation: int, access: Access, cells: Cells, size: int) -> None:
        """Record an access in bounds to `cells` of `size` bytes."""
        flags = self._flags.get(allocation)
        if flags is None:
            return
        by_access = {
            Access.LOAD: flags.read,
            Access.STORE: flags.stored,
            Access.ATOMIC: flags.updated,
        }
        octets = by_access[access]
        octets[: octets.size // size * size].reshape(-1, size)[cells()] = 1

    def of(self, allocation: int) -> TouchedBytes:
        """Return the accessed bytes of a watched allocation."""
        return self._flags[allocation]


def _either(one: Array, other: Array) -> Array:
    longer, shorter = (one, other) if one.size >= other.size else (other, one)
    found = longer.copy()
    found[: shorter.size] |= shorter
    return found


def _none_of(size_bytes: int) -> TouchedBytes:
    read, stored, updated = (np.zeros(size_bytes, np.uint8) for _ in range(3))
    return TouchedBytes(read, stored, updated)

"""Virtual addresses of arguments on the CPU device: far apart and never dereferenced.

Each argument gets a separate terabyte of addresses, with its memory in the middle. An address thus
identifies its argument after any arithmetic, aliases stay distinct, and an access that bypasses
translation reaches no memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from launch.buffers.allocation import Allocation, Leaf
from launch.buffers.element_types import stored

SLOT_BITS = 40
_MIDDLE = 1 << (SLOT_BITS - 1)
_WORD = 1 << 64


@dataclass(frozen=True)
class Slot:
    """The address range of one argument."""

    leaf: Leaf
    first: int
    """The virtual address of the first byte of its allocation."""
    end: int
    """The first address after its allocation."""
    distance: int
    """The difference from a virtual address to the real one, modulo 2^64."""

    @cached_property
    def reach(self) -> tuple[int, int]:
        """The address of the argument's lowest element, and the address after its highest.

        If the argument is a view, the memory around it is out of reach unless it is `whole`.
        """
        if self.leaf.whole:
            return self.first, self.end
        if not self.leaf.elements:
            return self.first, self.first
        size = stored(self.leaf.dtype).itemsize
        steps = [
            (extent - 1) * stride
            for extent, stride in zip(self.leaf.shape, self.leaf.strides, strict=True)
        ]
        low = self.leaf.offset + sum(step for step in steps if step < 0)
        high = self.leaf.offset + sum(step for step in steps if step > 0)
        return self.first + low * size, self.first + (high + 1) * size

    def holds(self, low: int, end: int) -> bool:
        """Return True if the argument's reach covers all addresses from `low` up to `end`."""
        return self.reach[0] <= low and end <= self.reach[1]


class AddressSpace:
    """The address ranges of all arguments of a launch."""

    def __init__(self, allocations: Sequence[Allocation]) -> None:
        self._allocations = allocations
        self._slots: list[Slot] = []

    def place(self, leaf: Leaf) -> int:
        """Assign addresses to an argument; return the address of its first element."""
        memory = self._allocations[leaf.allocation].memory
        first = ((len(self._slots) + 1) << SLOT_BITS) + _MIDDLE
        real = memory.__array_interface__["data"][0]
        self._slots.append(Slot(leaf, first, first + memory.nbytes, (real - first) % _WORD))
        return first + leaf.offset * memory.itemsize

    def slot_of(self, address: int) -> Slot | None:
        """Return the slot that contains an address, `None` if it belongs to no argument."""
        position = (address >> SLOT_BITS) - 1
        return self._slots[position] if 0 <= position < len(self._slots) else None

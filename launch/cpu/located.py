"""Which elements of which argument the lanes of an access are, found for all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from launch.buffers.allocation import Allocation
from launch.buffers.element_types import Array
from launch.checks.addresses import SLOT_BITS, AddressSpace, Slot
from launch.checks.owner_table import Suspected
from launch.cpu.pointer import Pointer

_NO_OFFSET = np.zeros(1, np.int32)


class Located(NamedTuple):
    """The lanes of an access that are in the memory of one argument, all in bounds and aligned."""

    allocation: int
    elements: Array
    """All of its allocation, in the type of the access."""
    first: int
    """The element that index 0 names."""
    indices: Array
    """Of each lane; anything where it is not live."""
    live: Array | None
    """Which lanes these are, `None`: all of them."""

    def values(self) -> Array:
        """Return what is there; of lanes that are not live, anything."""
        elements = self.elements[self.first :] if self.first else self.elements
        found: Array = elements.take(self.indices, mode="clip")
        return found

    def shape_with(self, values: Array) -> tuple[int, ...]:
        """Return the shape that the lanes and `values` spread to."""
        shape = np.broadcast_shapes(self.indices.shape, values.shape)
        return shape if self.live is None else np.broadcast_shapes(shape, self.live.shape)

    def cells(self, shape: tuple[int, ...]) -> Array:
        """Return the numbers of the elements of the live lanes, which spread to `shape`.

        They have that shape where all are live, and else stand one behind the other.
        """
        indices = self.picked(self.indices, shape)
        if not self.first and indices.dtype == np.int64:
            return indices
        found: Array = np.add(indices, self.first, dtype=np.int64)
        return found

    def picked(self, values: Array, shape: tuple[int, ...]) -> Array:
        """Return the `values` of the live lanes in the order of `cells`."""
        if values.shape != shape:
            values = np.broadcast_to(values, shape)
        return values if self.live is None else values[self.mask(shape)]

    def mask(self, shape: tuple[int, ...]) -> Array:
        """Return which lanes of `shape` are live."""
        return np.broadcast_to(True if self.live is None else self.live, shape)


class _Window(NamedTuple):
    """What can be reached from an address in elements of a type: indices from `low` to `end`."""

    allocation: int
    elements: Array
    first: int
    low: int
    end: int


class Locator:
    """Finds lanes by their made-up addresses."""

    def __init__(self, space: AddressSpace, allocations: Sequence[Allocation]) -> None:
        self._space, self._allocations = space, allocations
        self._windows: dict[tuple[int, np.dtype[Any]], _Window | None] = {}
        self._elements: dict[tuple[int, np.dtype[Any]], Array] = {}

    def located(self, pointer: Pointer, live: Array | None) -> list[Located]:
        """Return the live lanes by the argument that they are in; none where no lane is live.

        Raises `Suspected` where a lane is out of bounds or misaligned.
        """
        window = self._window(pointer)
        if window is None:
            return self._by_address(pointer, live)
        index = _NO_OFFSET if pointer.offset is None else pointer.offset
        if int(index.min()) < window.low or int(index.max()) >= window.end:
            chosen = _chosen(index, live)
            if not chosen.size:
                return []
            if int(chosen.min()) < window.low or int(chosen.max()) >= window.end:
                raise Suspected
        if window.low < 0:
            index = np.add(index, window.first, dtype=np.int64)
        first = 0 if window.low < 0 else window.first
        return [Located(window.allocation, window.elements, first, index, live)]

    def _window(self, pointer: Pointer) -> _Window | None:
        """Return what a pointer's lanes can reach, `None` where they do not begin together."""
        key = pointer.origin, pointer.dtype
        if pointer.unit != pointer.dtype.itemsize or not pointer.origin:
            return None
        if key not in self._windows:
            slot = self._space.slot_of(pointer.origin)
            self._windows[key] = None if slot is None else self._window_in(slot, *key)
        return self._windows[key]

    def _window_in(self, slot: Slot, origin: int, dtype: np.dtype[Any]) -> _Window | None:
        size = dtype.itemsize
        if (origin - slot.first) % size:
            return None
        low, end = slot.reach
        elements = self._elements_of(slot.leaf.allocation, dtype)
        begin, stop = -((origin - low) // size), (end - origin) // size
        return _Window(slot.leaf.allocation, elements, (origin - slot.first) // size, begin, stop)

    def _elements_of(self, allocation: int, dtype: np.dtype[Any]) -> Array:
        key = allocation, dtype
        if key not in self._elements:
            octets = self._allocations[allocation].memory.view(np.uint8)
            whole = octets[: octets.size // dtype.itemsize * dtype.itemsize]
            self._elements[key] = whole.view(dtype)
        return self._elements[key]

    def _by_address(self, pointer: Pointer, live: Array | None) -> list[Located]:
        addresses = pointer.address
        chosen = _chosen(addresses, live)
        if not chosen.size:
            return []
        slot = self._space.slot_of(int(chosen.min()))
        if slot is not None and slot.holds(int(chosen.min()), int(chosen.max()) + 1):
            return [self._in_slot(slot, addresses, live, chosen, pointer.dtype)]
        numbers = addresses >> SLOT_BITS
        found = []
        for number in np.unique(_chosen(numbers, live)).tolist():
            slot = self._space.slot_of(number << SLOT_BITS)
            if slot is None:
                raise Suspected
            own = numbers == number if live is None else live & (numbers == number)
            chosen = _chosen(addresses, own)
            found.append(self._in_slot(slot, addresses, own, chosen, pointer.dtype))
        return found

    def _in_slot(
        self, slot: Slot, addresses: Array, live: Array | None, chosen: Array, dtype: np.dtype[Any]
    ) -> Located:
        size = dtype.itemsize
        inside = slot.holds(int(chosen.min()), int(chosen.max()) + size)
        if not inside or int(np.bitwise_or.reduce(chosen, axis=None)) & (size - 1):
            raise Suspected
        elements = self._elements_of(slot.leaf.allocation, dtype)
        return Located(slot.leaf.allocation, elements, 0, (addresses - slot.first) // size, live)


def _chosen(values: Array, live: Array | None) -> Array:
    """Return the values of live lanes."""
    if live is None:
        return values
    shape = np.broadcast_shapes(values.shape, live.shape)
    found: Array = np.broadcast_to(values, shape)[np.broadcast_to(live, shape)]
    return found

"""Maps all lanes of an access at once to arguments and their elements."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from launch.buffers.allocation import Allocation
from launch.buffers.element_types import Array
from launch.checks.addresses import SLOT_BITS, AddressSpace, Slot
from launch.checks.owner_table import PossibleRace
from launch.cpu.located import LocatedLanes, Rows
from launch.cpu.pointer import Pointer

_NO_OFFSET = np.zeros(1, np.int32)
_SHORTEST_ROW = 16
"""The shortest row that is faster to move as a whole than element by element."""
_MAX_KNOWN = 16


class _Window(NamedTuple):
    """The elements of a type reachable from an address: indices from `low` to `end`."""

    allocation: int
    elements: Array
    first: int
    """The element at index 0."""
    low: int
    end: int


class Locator:
    """Finds lanes by their virtual addresses."""

    def __init__(self, space: AddressSpace, allocations: Sequence[Allocation]) -> None:
        self._space, self._allocations = space, allocations
        self._windows: dict[tuple[int, np.dtype[Any]], _Window | None] = {}
        self._elements: dict[tuple[int, np.dtype[Any]], Array] = {}
        self._rows: dict[tuple[int, np.dtype[Any], int], Array] = {}
        self._known: dict[int, tuple[Array, bool]] = {}
        """By id, an array, and True if it counts by one along its last axis."""

    def located(
        self, pointer: Pointer, live: Array | None, *, in_rows: bool = True
    ) -> list[LocatedLanes]:
        """Return the live lanes, one item for each argument that they access.

        With `in_rows`, items may be `Rows`. Raises `PossibleRace` if a lane is out of bounds or
        misaligned.
        """
        window = self._window(pointer)
        if window is None:
            return self._by_address(pointer, live)
        if in_rows and pointer.along is not None and pointer.along.shape[-1] >= _SHORTEST_ROW:
            rows = self._in_rows(window, pointer, live)
            if rows is not None:
                return [rows]
        indices = _NO_OFFSET if pointer.offset is None else pointer.offset
        if int(indices.min()) < window.low or int(indices.max()) >= window.end:
            chosen = _chosen(indices, live)
            if not chosen.size:
                return []
            if int(chosen.min()) < window.low or int(chosen.max()) >= window.end:
                raise PossibleRace
        first = window.first
        if window.low < 0:
            indices, first = np.add(indices, first, dtype=np.int64), 0
        return [LocatedLanes(window.allocation, window.elements, indices, first, live)]

    def in_other_argument(
        self, pointer: Pointer, live: Array | None
    ) -> tuple[Slot, Slot, int] | None:
        """Return the pointer's argument, and the argument into whose range a live lane strayed.

        They are the same if the address wrapped around. The third item is the address without
        wrap-around. Returns `None` if no lane strayed.
        """
        slot = self._slot_of(pointer)
        if slot is None:
            return None
        offsets = _chosen(_NO_OFFSET if pointer.offset is None else pointer.offset, live)
        origin, unit, size = pointer.origin, pointer.unit, pointer.dtype.itemsize
        low, end = slot.reach
        out = offsets[
            (offsets < -((origin - low) // unit)) | (offsets > (end - size - origin) // unit)
        ]
        addresses = out.astype(np.int64) * unit + origin
        for number in np.unique(addresses >> SLOT_BITS).tolist():
            there = self._space.slot_of(number << SLOT_BITS)
            if there is not None:
                low, end = there.reach
                inside = out[(addresses >= low) & (addresses <= end - size)]
                if inside.size:
                    return slot, there, origin + int(inside[0]) * unit
        return None

    def _slot_of(self, pointer: Pointer) -> Slot | None:
        """Return the argument that a pointer comes from, `None` for a pointer from an integer."""
        return self._space.slot_of(pointer.origin) if pointer.origin else None

    def _in_rows(self, window: _Window, pointer: Pointer, live: Array | None) -> Rows | None:
        """Return lanes as rows, `None` if they are not rows or need a check of each lane."""
        width = length = pointer.along.shape[-1] if pointer.along is not None else 0
        if live is not None:
            length = _length_of(live, width)
        if length < _SHORTEST_ROW or pointer.along is None or not self._counts(pointer.along):
            return None
        starts = pointer.along[..., :1]
        starts = np.add(starts, 0 if pointer.across is None else pointer.across, dtype=np.int64)
        if int(starts.min()) < window.low or int(starts.max()) + length > window.end:
            return None
        windows, whole = self._rows_of(window, length), self._rows_of(window, width)
        return Rows(window.allocation, window.elements, starts + window.first, windows, whole)

    def _rows_of(self, window: _Window, length: int) -> Array:
        key = window.allocation, window.elements.dtype, length
        if key not in self._rows:
            elements = window.elements
            count, step = max(elements.size - length + 1, 0), elements.itemsize
            bits = elements.view(f"u{step}")  # as_strided supports only NumPy's own types
            self._rows[key] = as_strided(bits, (count, length), (step, step)).view(elements.dtype)
        return self._rows[key]

    def _counts(self, along: Array) -> bool:
        """Return True if each row of an array counts by one; results are cached by array."""
        known = self._known.get(id(along))
        if known is None or known[0] is not along:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[id(along)] = known = along, _counts_by_one(along)
        return known[1]

    def _window(self, pointer: Pointer) -> _Window | None:
        """Return the range that a pointer's lanes can reach, `None` if they have no one origin."""
        key = pointer.origin, pointer.dtype
        if pointer.unit != pointer.dtype.itemsize or not pointer.origin:
            return None
        if key not in self._windows:
            slot = self._slot_of(pointer)
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

    def _by_address(self, pointer: Pointer, live: Array | None) -> list[LocatedLanes]:
        addresses = pointer.address
        chosen = _chosen(addresses, live)
        if not chosen.size:
            return []
        own_slot = self._slot_of(pointer)
        slot = own_slot or self._space.slot_of(int(chosen.min()))
        if slot is not None and slot.holds(int(chosen.min()), int(chosen.max()) + 1):
            return [self._in_slot(slot, addresses, live, chosen, pointer.dtype)]
        numbers = addresses >> SLOT_BITS
        located = []
        for number in np.unique(_chosen(numbers, live)).tolist():
            slot = self._space.slot_of(number << SLOT_BITS)
            if slot is None or own_slot is not None:
                raise PossibleRace
            own = numbers == number if live is None else live & (numbers == number)
            chosen = _chosen(addresses, own)
            located.append(self._in_slot(slot, addresses, own, chosen, pointer.dtype))
        return located

    def _in_slot(
        self, slot: Slot, addresses: Array, live: Array | None, chosen: Array, dtype: np.dtype[Any]
    ) -> LocatedLanes:
        size = dtype.itemsize
        inside = slot.holds(int(chosen.min()), int(chosen.max()) + size)
        if not inside or int(np.bitwise_or.reduce(chosen, axis=None)) & (size - 1):
            raise PossibleRace
        elements = self._elements_of(slot.leaf.allocation, dtype)
        indices = (addresses - slot.first) // size
        return LocatedLanes(slot.leaf.allocation, elements, indices, 0, live)


def _chosen(values: Array, live: Array | None) -> Array:
    """Return the values of live lanes."""
    if live is None:
        return values
    shape = np.broadcast_shapes(values.shape, live.shape)
    chosen: Array = np.broadcast_to(values, shape)[np.broadcast_to(live, shape)]
    return chosen


def _length_of(live: Array, width: int) -> int:
    """Return the number of live lanes if each row has the same first ones live, else 0."""
    if live.shape[-1] != width or live.size != width:
        return 0
    length = int(np.count_nonzero(live))
    return length if live[..., :length].all() else 0


def _counts_by_one(along: Array) -> bool:
    width = along.shape[-1]
    starts = along[..., :1]
    ends = along[..., -1:]
    if (ends < starts).any() or (ends - starts != width - 1).any():  # `<`: it wrapped around
        return False
    return bool((along == starts + np.arange(width, dtype=along.dtype)).all())

"""Finds programs of one launch that get in each other's way, from what each of them touched.

The interpreter runs programs one after another, a GPU in any order and at once. So two programs
that touch one element, one of them to change it, race unless both do so atomically, or atomic
operations order them. Writing the value that is there already changes nothing and is no race.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compiler.launching.buffers import Allocation
from compiler.launching.dtypes import Array
from compiler.launching.finding import Conflict, Place
from compiler.launching.order import Order, Step
from compiler.launching.touch import Access, Lanes

_SLOTS = 4
_FIRST_WRITE, _LAST_WRITE, _FIRST_READ, _LAST_READ = range(_SLOTS)
_WRITES = (_FIRST_WRITE, _LAST_WRITE)
_NOBODY = -1


class _Cells:
    """Who touched each cell of an allocation first and last: to read it, and to write it.

    A cell is an element, or a byte from the first access on that is smaller than an element.
    """

    def __init__(self, allocation: Allocation) -> None:
        self.octets = allocation.memory.view(np.uint8)
        self.bytes = allocation.memory.itemsize
        count = allocation.memory.size
        self.steps = np.full((_SLOTS, count), _NOBODY, np.int32)
        self.changed = np.zeros(count, np.bool_)

    def touched(self, lanes: Lanes) -> Array:
        """Return the cells of an access: a row for each lane."""
        offsets, size = lanes.offsets, lanes.touch.size
        if size % self.bytes:
            self.steps = np.repeat(self.steps, self.bytes, axis=1)
            self.changed = np.repeat(self.changed, self.bytes)
            self.bytes = 1
        cells: Array = (offsets // self.bytes)[:, None] + np.arange(size // self.bytes)
        return cells

    def differing(self, lanes: Lanes) -> Array:
        """Return which lanes change what is in memory: atomic operations always do."""
        offsets, values, size = lanes.offsets, lanes.values, lanes.touch.size
        if values is None or values.dtype.itemsize != size:
            return np.ones(offsets.shape, np.bool_)
        held = self.octets[offsets[:, None] + np.arange(size)]
        new = np.ascontiguousarray(values).view(np.uint8).reshape(-1, size)
        differs: Array = np.not_equal(held, new).any(axis=1)
        return differs


class Races:
    """Watches all accesses of one launch."""

    def __init__(self, allocations: Sequence[Allocation], grid: Sequence[int]) -> None:
        self._allocations = allocations
        self._grid = grid
        self._cells: dict[int, _Cells] = {}
        self._order = Order(math.prod(grid))

    def note(self, lanes: Lanes, place: Place) -> Conflict | None:
        """Remember an access in bounds; return what it gets in the way of, if anything."""
        index, touch = lanes.slot.leaf.allocation, lanes.touch
        if index not in self._cells:
            self._cells[index] = _Cells(self._allocations[index])
        step = self._order.step(self._number(place), place, atomic=touch.semantics is not None)
        if touch.semantics is not None:
            self._order.synchronise(lanes.addresses, touch.semantics)
        done = self._read if touch.access is Access.LOAD else self._write
        return done(self._cells[index], lanes, step)

    def _number(self, place: Place) -> int:
        _, height, depth = self._grid
        x, y, z = place.program or (0, 0, 0)
        return (x * height + y) * depth + z

    def _read(self, cells: _Cells, lanes: Lanes, step: Step) -> Conflict | None:
        touched = cells.touched(lanes)
        conflict = self._met(cells, _WRITES, lanes, touched, cells.changed[touched], step)
        _remember(cells.steps, touched, _FIRST_READ, step)
        return conflict

    def _write(self, cells: _Cells, lanes: Lanes, step: Step) -> Conflict | None:
        touched, differs = cells.touched(lanes), cells.differing(lanes)[:, None]
        conflict = self._met(cells, range(_SLOTS), lanes, touched, differs, step)
        _remember(cells.steps, touched, _FIRST_WRITE, step)
        cells.changed[touched] |= differs
        return conflict or _within(lanes)

    def _met(
        self,
        cells: _Cells,
        slots: Sequence[int],
        lanes: Lanes,
        touched: Array,
        matters: Array,
        step: Step,
    ) -> Conflict | None:
        """Return the first earlier access that nothing puts before this one."""
        for slot in slots:
            steps = cells.steps[slot][touched]
            apart = self._order.unordered(steps, step) & matters
            met = apart.any(axis=1)
            if met.any():
                lane = int(met.argmax())
                place = self._order.place_of(int(steps[lane][apart[lane]][0]))
                address = int(lanes.addresses[lane])
                return Conflict(address, place, slot in _WRITES, int(met.sum()))
        return None


def _remember(steps: Array, touched: Array, first: int, step: Step) -> None:
    """Keep the first and the last of those that touched a cell."""
    fresh = steps[first][touched] == _NOBODY
    steps[first][touched[fresh]] = step.number
    steps[first + 1][touched] = step.number


def _within(lanes: Lanes) -> Conflict | None:
    """Return that lanes of one store write different values to one place, if they do."""
    addresses, values = lanes.addresses, lanes.values
    if values is None:
        return None
    order = np.argsort(addresses, kind="stable")
    again = addresses[order][1:] == addresses[order][:-1]
    octets = np.ascontiguousarray(values[order]).view(np.uint8).reshape(order.size, -1)
    clash = again & np.not_equal(octets[1:], octets[:-1]).any(axis=1)
    if not clash.any():
        return None
    lane = int(order[int(clash.argmax()) + 1])
    return Conflict(int(addresses[lane]), None, other_wrote=True, lanes=int(clash.sum()))

"""Finds races between the programs of one launch from their memory accesses.

Accesses arrive one program after another, but a GPU runs programs in any order and concurrently.
Two programs that access one element, at least one of them to change it, race unless both accesses
are atomic or atomic operations order them: an acquire at an address comes after everything that
other programs did before they released there. Writing the current value again is not a race, but
the first write to memory without initial contents is, whatever it holds. An atomic operation of the
scope `cta` is atomic within its program only, and orders no two programs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from launch.buffers.allocation import Allocation
from launch.buffers.element_types import Array
from launch.checks.access import Access, Lanes, Touch
from launch.checks.finding import Conflict, KernelLocation

_NOTHING = -1
_PLAIN, _ATOMIC, _ATOMIC_WITHIN = range(3)
_ACQUIRES = frozenset({"ACQUIRE", "ACQUIRE_RELEASE"})
_RELEASES = frozenset({"RELEASE", "ACQUIRE_RELEASE"})


@dataclass(frozen=True)
class AccessStep:
    """One access: its number within the launch, its program, and how far it is atomic."""

    number: int
    program: int
    atomic: int


class AccessOrder:
    """The accesses of a launch of `programs` programs, and the order between them."""

    def __init__(self, programs: int) -> None:
        self._steps = 0
        self._locations: dict[KernelLocation, int] = {}
        """Source locations, without programs, and their numbers."""
        self._location_of = np.zeros(1024, np.int32)
        self._program_of = np.zeros(1024, np.int32)
        self._atomic = np.zeros(1024, np.int8)
        self._programs = programs
        self._running = _NOTHING
        self._known: Array | None = None
        """For each program, its last step that is ordered before the running one; `None`: none."""
        self._released: dict[int, Array] = {}

    def step(self, program: int, location: KernelLocation, *, atomic: int) -> AccessStep:
        """Return the next access of `program`."""
        number = self._steps
        self._steps += 1
        if number == self._program_of.size:
            self._location_of = np.resize(self._location_of, 2 * number)
            self._program_of = np.resize(self._program_of, 2 * number)
            self._atomic = np.resize(self._atomic, 2 * number)
        everywhere = replace(location, program=None)
        self._location_of[number] = self._locations.setdefault(everywhere, len(self._locations))
        self._program_of[number], self._atomic[number] = program, atomic
        if program != self._running:  # no order with its predecessor is known
            self._running = program
            self._known = None
        return AccessStep(number, program, atomic)

    def synchronise(self, addresses: Array, semantics: str) -> None:
        """Order the running program after releases at `addresses`, and release there."""
        every = np.unique(addresses).tolist()
        earlier = {
            id(known): known for known in map(self._released.get, every) if known is not None
        }
        own = np.full(self._programs, _NOTHING, np.int32) if self._known is None else self._known
        if semantics in _ACQUIRES:
            for known in earlier.values():
                own = np.maximum(own, known)
            self._known = own
        if semantics in _RELEASES:
            own = own.copy()  # shared by all addresses, as most have the same order
            own[self._running] = self._steps - 1
            merged = {number: np.maximum(known, own) for number, known in earlier.items()}
            for address in every:
                self._released[address] = merged.get(id(self._released.get(address)), own)

    def unordered(self, steps: Array, now: AccessStep) -> Array:
        """Return a mask of the earlier `steps` (-1 for none) without an order before `now`.

        Two atomic operations need no order.
        """
        owners = self._program_of[steps]
        apart = (steps != _NOTHING) & (owners != now.program)
        if self._known is not None:
            apart &= self._known[owners] < steps
        if now.atomic == _ATOMIC:
            apart &= self._atomic[steps] != _ATOMIC
        unordered: Array = apart
        return unordered

    def are_atomic(self, steps: Array, now: AccessStep) -> Array:
        """Return a mask of the earlier `steps` that are atomic, as `now` is, in any scope."""
        are_atomic: Array = (self._atomic[steps] != _PLAIN) & (now.atomic != _PLAIN)
        return are_atomic

    def suspend(self) -> tuple[int, Array | None]:
        """Return the state of the running program, which will go on later."""
        return self._running, self._known

    def resume(self, state: tuple[int, Array | None]) -> None:
        """Go on with the program that was suspended."""
        self._running, self._known = state

    def location_of(self, step: int) -> tuple[KernelLocation, int]:
        """Return the source location of a step and the number of its program."""
        locations = list(self._locations)  # in the order of their numbers
        return locations[self._location_of[step]], int(self._program_of[step])


_SLOTS = 4
_FIRST_WRITE, _LAST_WRITE, _FIRST_READ, _LAST_READ = range(_SLOTS)
_WRITES = (_FIRST_WRITE, _LAST_WRITE)
_NOBODY = -1


class _Cells:
    """The first and last access to each cell of an allocation, for reads and for writes.

    A cell is an element, or a byte once an access is smaller than an element.
    """

    def __init__(self, allocation: Allocation, filled: Array) -> None:
        self.memory = allocation.memory
        self.bytes = allocation.memory.itemsize
        count = allocation.memory.size
        self.steps = np.full((_SLOTS, count), _NOBODY, np.int32)
        self.changed = np.zeros(count, np.bool_)
        self._filled = filled

    def touched(self, lanes: Lanes) -> Array:
        """Return the cells of an access, one row per lane."""
        offsets, size = lanes.offsets, lanes.touch.size
        if size % self.bytes:
            self.steps = np.repeat(self.steps, self.bytes, axis=1)
            self.changed = np.repeat(self.changed, self.bytes)
            self._filled = np.repeat(self._filled, self.bytes)
            self.bytes = 1
        cells: Array = (offsets // self.bytes)[:, None] + np.arange(size // self.bytes)
        return cells

    def are_empty(self, touched: Array) -> Array:
        """Return a mask of the `touched` cells that nothing has written or filled."""
        empty: Array = ~self._filled[touched] & (self.steps[_FIRST_WRITE][touched] == _NOBODY)
        return empty


def changing(memory: Array, lanes: Lanes) -> Array:
    """Return a mask of the lanes that change memory; atomic operations always do."""
    offsets, values, size = lanes.offsets, lanes.values, lanes.touch.size
    if values is None or values.dtype.itemsize != size:
        return np.ones(offsets.shape, np.bool_)
    held = memory.view(np.uint8)[offsets[:, None] + np.arange(size)]
    new = np.ascontiguousarray(values).view(np.uint8).reshape(-1, size)
    differs: Array = np.not_equal(held, new).any(axis=1)
    return differs


class Races:
    """Checks all accesses of one launch for races."""

    def __init__(
        self, allocations: Sequence[Allocation], filled: Sequence[Array], grid: Sequence[int]
    ) -> None:
        """Set, for each allocation, the mask of elements with initial contents."""
        self._allocations = allocations
        self._filled = filled
        self._grid = grid
        self._cells: dict[int, _Cells] = {}
        self.order = AccessOrder(math.prod(grid))

    def note(self, lanes: Lanes, location: KernelLocation) -> Conflict | None:
        """Record an access in bounds; return its conflict with an earlier access, if any."""
        index, touch = lanes.slot.leaf.allocation, lanes.touch
        if index not in self._cells:
            self._cells[index] = _Cells(self._allocations[index], self._filled[index])
        step = self.order.step(self._number(location), location, atomic=_atomic(touch))
        if touch.semantics is not None and not touch.within_program:
            self.order.synchronise(lanes.addresses, touch.semantics)
        done = self._read if touch.access is Access.LOAD else self._write
        return done(self._cells[index], lanes, step)

    def _number(self, location: KernelLocation) -> int:
        _, height, depth = self._grid
        x, y, z = location.program or (0, 0, 0)
        return (x * height + y) * depth + z

    def _location_of(self, step: int) -> KernelLocation:
        location, number = self.order.location_of(step)
        _, height, depth = self._grid
        rows, z = divmod(number, depth)
        return replace(location, program=(*divmod(rows, height), z))

    def _read(self, cells: _Cells, lanes: Lanes, step: AccessStep) -> Conflict | None:
        touched = cells.touched(lanes)
        conflict = self._met(cells, _WRITES, lanes, touched, cells.changed[touched], step)
        _remember(cells.steps, touched, _FIRST_READ, step)
        return conflict

    def _write(self, cells: _Cells, lanes: Lanes, step: AccessStep) -> Conflict | None:
        touched = cells.touched(lanes)
        differs = changing(cells.memory, lanes)[:, None] | cells.are_empty(touched)
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
        step: AccessStep,
    ) -> Conflict | None:
        """Return the first earlier access without an order before this one.

        Accesses that are both atomic, one of them only within its program, come last.
        """
        weaker: Conflict | None = None
        for slot in slots:
            steps = cells.steps[slot][touched]
            apart = self.order.unordered(steps, step) & matters
            if not apart.any():
                continue
            atomic = self.order.are_atomic(steps, step)
            is_weaker = not (apart & ~atomic).any()
            if is_weaker and weaker is not None:
                continue
            apart &= atomic == is_weaker
            met = apart.any(axis=1)
            lane = int(met.argmax())
            location = self._location_of(int(steps[lane][apart[lane]][0]))
            address, count = int(lanes.addresses[lane]), int(met.sum())
            conflict = Conflict(address, location, slot in _WRITES, count, both_atomic=is_weaker)
            if not is_weaker:
                return conflict
            weaker = conflict
        return weaker


def _atomic(touch: Touch) -> int:
    if touch.semantics is None:
        return _PLAIN
    return _ATOMIC_WITHIN if touch.within_program else _ATOMIC


def _remember(steps: Array, touched: Array, first: int, step: AccessStep) -> None:
    """Keep the first and the last access to each cell."""
    fresh = steps[first][touched] == _NOBODY
    steps[first][touched[fresh]] = step.number
    steps[first + 1][touched] = step.number


def _within(lanes: Lanes) -> Conflict | None:
    """Return the conflict if lanes of one store write different values to one element."""
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

"""Finds accesses of one program to one element whose order its threads do not keep.

Each thread keeps its accesses in order. Two accesses at different positions of their
tensors belong to different threads in general, and only a barrier orders these. A reduction, a dot,
an atomic whose value all threads get and the like usually compile to a barrier, which is this
compiler's choice and not the language's.
A pipelined loop issues its loads some rounds early, before the stores of the rounds between.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from compiler.lines.pipelined_load import PipelinedLoad
from launch.buffers.element_types import Array
from launch.checks.access import Access, Lanes
from launch.checks.finding import KernelLocation

_NOBODY = -1
_SEVERAL = -2


@dataclass(frozen=True)
class OwnConflict:
    """Two accesses of one program to the element at `address` without an order.

    `position` and `other_position` are lanes of their tensors, -2 for several of them. With
    `stages`, the access is a load of a loop that is pipelined in this number of stages.
    """

    address: int
    other: KernelLocation
    position: int
    other_position: int
    lanes: int
    is_kept_today: bool = False
    stages: int | None = None


class _Written:
    """The last write to each cell of an allocation: its step, lane, and whether it was atomic."""

    def __init__(self, cells: int) -> None:
        self.step = np.full(cells, _NOBODY, np.int64)
        self.lane = np.full(cells, _NOBODY, np.int64)


class OwnOrder:
    """Checks the accesses of one program after another."""

    def __init__(self, pipelined: Mapping[int, PipelinedLoad]) -> None:
        self._pipelined = pipelined
        self._written: dict[tuple[int, int], _Written] = {}
        """By allocation and size of its cells in bytes."""
        self._steps: list[tuple[KernelLocation, int, bool]] = []
        """The location of each step, its operation's number, and whether it is atomic."""
        self._program: tuple[int, int, int] | None = None
        self._begun = self._barrier = self._exchange = 0
        """The first steps of the program, after its last barrier, and after what implies one."""
        self._entered: dict[int, int] = {}
        """The first step of the running loop, by the loop's number."""
        self._loaded: dict[int, list[int]] = {}
        """The steps of each pipelined load since its loop began."""

    def barrier(self) -> None:
        """Order all that the program did before."""
        self._barrier = len(self._steps)

    def exchange(self) -> None:
        """Note an operation between threads, which usually compiles to a barrier."""
        self._exchange = len(self._steps)

    def enter_loop(self, loop: int) -> None:
        """Note that a pipelined loop begins."""
        self._entered[loop] = len(self._steps)
        for number, load in self._pipelined.items():
            if load.loop == loop:
                self._loaded[number] = []

    def forget(self) -> None:
        """Start over, because another program continues."""
        self._program = None
        self._entered.clear()
        self._loaded.clear()

    def note(
        self, lanes: Lanes, changed: Array, location: KernelLocation, operation: int
    ) -> OwnConflict | None:
        """Record an access before it is performed; return its conflict with an earlier one.

        `changed` is a mask of the lanes that change memory.
        """
        if location.program != self._program:
            self._program = location.program
            self._begun = self._barrier = self._exchange = len(self._steps)
        step, touch = len(self._steps), lanes.touch
        self._steps.append((location, operation, touch.semantics is not None))
        written, cells = self._cells(lanes)
        positions = _positions(lanes)
        conflict = self._met(written, cells, positions, changed, lanes, step)
        if touch.access is Access.LOAD:
            if operation in self._pipelined:
                early = self._loaded_early(written, cells, lanes, operation, positions)
                self._loaded.setdefault(operation, []).append(step)
                conflict = early or conflict
        else:
            live = changed if touch.access is Access.STORE else np.ones_like(changed)
            where = cells[live]
            written.step[where] = step
            written.lane[where] = positions[live]
            mixed = written.lane[where] != positions[live]
            written.lane[where[mixed]] = _SEVERAL
        if touch.is_returned and touch.pointers.size == 1:  # all threads get its value
            self.exchange()
        return conflict

    def _cells(self, lanes: Lanes) -> tuple[_Written, Array]:
        size, slot = lanes.touch.size, lanes.slot
        key = slot.leaf.allocation, size
        if key not in self._written:
            self._written[key] = _Written((slot.end - slot.first) // size)
        return self._written[key], lanes.offsets // size

    def _met(
        self,
        written: _Written,
        cells: Array,
        positions: Array,
        changed: Array,
        lanes: Lanes,
        step: int,
    ) -> OwnConflict | None:
        steps, others = written.step[cells], written.lane[cells]
        met = (steps >= max(self._begun, self._barrier)) & (others != positions)
        is_load = lanes.touch.access is Access.LOAD
        met &= True if is_load else changed
        if self._steps[step][2]:
            met &= ~self._are_atomic(steps)
        if not met.any():
            return None
        now = met & (steps >= self._exchange)
        if is_load and not now.any():
            return None
        is_kept = not now.any()
        return self._conflict(met if is_kept else now, steps, others, positions, lanes, is_kept)

    def _are_atomic(self, steps: Array) -> Array:
        known = np.unique(steps)
        atomic = np.array([step >= 0 and self._steps[step][2] for step in known.tolist()], np.bool_)
        are_atomic: Array = atomic[np.searchsorted(known, steps)]
        return are_atomic

    def _loaded_early(
        self, written: _Written, cells: Array, lanes: Lanes, operation: int, positions: Array
    ) -> OwnConflict | None:
        """Return the conflict if a store that comes first is of a round that the load overtakes."""
        load, loads = self._pipelined[operation], self._loaded.get(operation, [])
        steps = written.step[cells]
        late = np.zeros(steps.shape, np.bool_)
        first = max(self._entered.get(load.loop, len(self._steps)), self._barrier)
        for step in np.unique(steps[steps >= first]).tolist():
            store = self._steps[step][1]
            if store in load.stores:
                between = len(loads) - bisect_right(loads, step)
                rounds = between if store < operation else between + 1
                if rounds < load.stages:
                    late |= steps == step
        if not late.any():
            return None
        others = written.lane[cells]
        conflict = self._conflict(late, steps, others, positions, lanes, is_kept=False)
        return replace(conflict, stages=load.stages)

    def _conflict(
        self,
        met: Array,
        steps: Array,
        others: Array,
        positions: Array,
        lanes: Lanes,
        is_kept: bool,
    ) -> OwnConflict:
        lane = int(met.argmax())
        return OwnConflict(
            int(lanes.addresses[lane]),
            self._steps[int(steps[lane])][0],
            int(positions[lane]),
            int(others[lane]),
            int(met.sum()),
            is_kept,
        )


def _positions(lanes: Lanes) -> Array:
    """Return the position of each live lane in its tensor, counted in C order."""
    if lanes.live is None:
        return np.arange(lanes.touch.pointers.size)
    return np.flatnonzero(lanes.live)

"""Stands between a kernel and memory: checks every access, notes it, makes its addresses real."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

from compiler.excerpt import file_in_kernel
from compiler.launching import finding
from compiler.launching.addresses import SLOT_BITS, AddressSpace
from compiler.launching.buffers import Allocation
from compiler.launching.dtypes import Array
from compiler.launching.finding import Finding, Place, Stopped
from compiler.launching.marks import Marks
from compiler.launching.races import Races
from compiler.launching.shadow import Shadow
from compiler.launching.touch import Access, Lanes, Touch
from compiler.launching.trace import Trace

MOST_FINDINGS = 20


class OutOfPatience(BaseException):
    """Ends a launch that makes more accesses than it is given."""


class Watch:
    """Sees all accesses of one launch."""

    def __init__(
        self,
        space: AddressSpace,
        allocations: Sequence[Allocation],
        program: Callable[[], tuple[int, int, int]],
        *,
        marks: Marks | None = None,
        trace: Trace | None = None,
        shadow: Shadow | None = None,
        races: Races | None = None,
        patience: int | None = None,
    ) -> None:
        """Take what else is kept, and after how many accesses to raise `OutOfPatience`."""
        self._space = space
        self._allocations = allocations
        self._program = program
        self._marks = marks
        self._trace = trace
        self._shadow = shadow
        self._races = races
        self._patience = patience
        self._pristine: dict[int, Array] = {}
        self._found_at: set[tuple[str, str | None, int | None]] = set()
        self.findings: list[Finding] = []
        self.accesses = 0

    def admit(self, touch: Touch, mask: Array | None) -> Array:
        """Return the real addresses for an access in every unmasked lane.

        Raises `Stopped` for one that is out of bounds or misaligned: nothing was touched then.
        """
        self.accesses += 1
        self._check_patience()
        pointers, size = touch.pointers, touch.size
        whole = mask is None or bool(mask.all())
        live = None if whole or mask is None else np.broadcast_to(mask, pointers.shape)
        active = pointers.reshape(-1) if live is None else pointers[live]
        if not active.size:
            self._note_idle(touch, live)
            return pointers
        low, high = int(active.min()), int(active.max())
        slot = self._space.slot_of(low)
        if slot is None or not slot.holds(low, high + size) or _odd(active, size):
            return self._admit_each(touch, live)
        self._note(Lanes(touch, slot, live))
        return pointers + np.uint64(slot.distance)

    def _admit_each(self, touch: Touch, live: Array | None) -> Array:
        """Check lane by lane: something is wrong, or the lanes belong to several arguments."""
        pointers, size = touch.pointers, touch.size
        live = np.ones(pointers.shape, np.bool_) if live is None else live
        bad = live.copy()
        distances = np.zeros(pointers.shape, np.uint64)
        numbers = pointers >> np.uint64(SLOT_BITS)
        for number in np.unique(numbers[live]).tolist():
            slot = self._space.slot_of(number << SLOT_BITS)
            if slot is None:
                continue
            own = live & (numbers == number)
            low, high = slot.reach
            inside = (pointers >= low) & (pointers <= max(high - size, 0))
            bad &= ~(own & inside & (pointers % size == 0))
            distances[own] = slot.distance
            if not bad[own].any():
                self._note(Lanes(touch, slot, own))
        if bad.any():
            raise Stopped(self._wrong(touch, pointers[bad]))
        return pointers + distances

    def _note_idle(self, touch: Touch, live: Array | None) -> None:
        """Keep an access none of whose lanes does anything, where its pointers say whose it is."""
        if self._trace is None or not touch.pointers.size or not self._trace.wants(self._program()):
            return
        slot = self._space.slot_of(int(touch.pointers.flat[0]))
        if slot is not None:
            self._trace.add(Lanes(touch, slot, live), self.place())

    def _check_patience(self) -> None:
        if self._patience is not None and self.accesses > self._patience:
            raise OutOfPatience

    def _wrong(self, touch: Touch, addresses: Array) -> Finding:
        address, place = int(addresses[0]), self.place()
        slot = self._space.slot_of(address)
        if slot is None:
            return finding.nobodys(touch.access, address, addresses.size, place)
        if slot.holds(address, address + touch.size):
            return finding.misaligned(touch.access, slot, address, touch.size, place)
        return finding.missed(touch.access, slot, address, addresses.size, place, touch.way)

    def _note(self, lanes: Lanes) -> None:
        index, access = lanes.slot.leaf.allocation, lanes.touch.access
        if access is not Access.LOAD and index not in self._pristine:
            allocation = self._allocations[index]
            if not allocation.output:
                self._pristine[index] = allocation.memory.copy()
        if self._marks is not None and access is Access.STORE:
            self._marks.store(lanes.slot, lanes.addresses, lanes.touch.size)
        if self._shadow is not None:
            self._note_in_shadow(self._shadow, lanes)
        if self._races is not None:
            self._note_in_races(self._races, lanes)
        if self._trace is not None and self._trace.wants(self._program()):
            self._trace.add(lanes, self.place())

    def _note_in_shadow(self, shadow: Shadow, lanes: Lanes) -> None:
        access, slot, size = lanes.touch.access, lanes.slot, lanes.touch.size
        if access is not Access.STORE:
            address = shadow.unwritten(slot, lanes.addresses, size)
            if address is not None:
                self._find(finding.uninitialized(slot, address, self.place()))
        if access is not Access.LOAD:
            shadow.write(slot, lanes.addresses, size)

    def _note_in_races(self, races: Races, lanes: Lanes) -> None:
        place = self.place()
        conflict = races.note(lanes, place)
        if conflict is not None:
            self._find(finding.race(lanes.touch.access, lanes.slot, conflict, place))

    def _find(self, found: Finding) -> None:
        """Keep a finding that does not stop the launch, once for every line."""
        where = (found["kind"], found["argument"], found["line"])
        if where not in self._found_at and len(self.findings) < MOST_FINDINGS:
            self._found_at.add(where)
            self.findings.append(found)

    def place(self) -> Place:
        """Return where the kernel is now: the innermost line of the user's files on the stack."""
        frame = sys._getframe(1)
        while frame is not None:
            file = file_in_kernel(frame.f_code.co_filename)
            if file is not None:
                return Place(file, frame.f_lineno, self._program())
            frame = frame.f_back  # type: ignore[assignment]
        return Place(None, None, self._program())

    def modified(self) -> list[tuple[Allocation, Array]]:
        """Return allocations that are no outputs and were changed, with the changed elements."""
        changed = []
        for index, before in self._pristine.items():
            allocation = self._allocations[index]
            octets = allocation.memory.itemsize
            differs = before.view(np.uint8) != allocation.memory.view(np.uint8)
            elements = np.flatnonzero(differs.reshape(-1, octets).any(axis=1))
            if elements.size:
                changed.append((allocation, elements))
        return changed


def _odd(addresses: Array, size: int) -> bool:
    return bool(int(np.bitwise_or.reduce(addresses)) & (size - 1))

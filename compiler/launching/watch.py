"""Stands between a kernel and memory: checks every access, notes it, makes its addresses real."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

from compiler.excerpt import file_in_kernel
from compiler.launching import finding
from compiler.launching.addresses import SLOT_BITS, AddressSpace, Slot
from compiler.launching.buffers import Allocation
from compiler.launching.dtypes import Array
from compiler.launching.finding import Access, Finding, Place, Stopped
from compiler.launching.shadow import Shadow
from compiler.launching.trace import Trace

MOST_FINDINGS = 20


class Watch:
    """Sees all accesses of one launch."""

    def __init__(
        self,
        space: AddressSpace,
        allocations: Sequence[Allocation],
        program: Callable[[], tuple[int, int, int]],
        *,
        trace: Trace | None = None,
        shadow: Shadow | None = None,
    ) -> None:
        self._space = space
        self._allocations = allocations
        self._program = program
        self._trace = trace
        self._shadow = shadow
        self._pristine: dict[int, Array] = {}
        self._found_at: set[tuple[str | None, int | None]] = set()
        self.findings: list[Finding] = []
        self.accesses = 0

    def admit(self, access: Access, pointers: Array, mask: Array | None, size: int) -> Array:
        """Return the real addresses for an access of `size` bytes in every unmasked lane.

        Raises `Stopped` for one that is out of bounds or misaligned: nothing was touched then.
        """
        self.accesses += 1
        whole = mask is None or bool(mask.all())
        live = None if whole or mask is None else np.broadcast_to(mask, pointers.shape)
        active = pointers.reshape(-1) if live is None else pointers[live]
        if not active.size:
            return pointers
        low, high = int(active.min()), int(active.max())
        slot = self._space.slot_of(low)
        if slot is None or not slot.holds(low, high + size) or _odd(active, size):
            return self._admit_each(access, pointers, live, size)
        self._note(access, slot, pointers, active, live, size)
        return pointers + np.uint64(slot.distance)

    def _admit_each(self, access: Access, pointers: Array, live: Array | None, size: int) -> Array:
        """Check lane by lane: something is wrong, or the lanes belong to several arguments."""
        live = np.ones(pointers.shape, np.bool_) if live is None else live
        bad = live.copy()
        distances = np.zeros(pointers.shape, np.uint64)
        numbers = pointers >> np.uint64(SLOT_BITS)
        for number in np.unique(numbers[live]).tolist():
            slot = self._space.slot_of(number << SLOT_BITS)
            if slot is None:
                continue
            own = live & (numbers == number)
            inside = (pointers >= slot.first) & (pointers <= max(slot.end - size, 0))
            bad &= ~(own & inside & (pointers % size == 0))
            distances[own] = slot.distance
            if not bad[own].any():
                self._note(access, slot, pointers, pointers[own], own, size)
        if bad.any():
            raise Stopped(self._wrong(access, pointers[bad], size))
        return pointers + distances

    def _wrong(self, access: Access, addresses: Array, size: int) -> Finding:
        address, place = int(addresses[0]), self.place()
        slot = self._space.slot_of(address)
        if slot is None:
            return finding.nobodys(access, address, addresses.size, place)
        if slot.holds(address, address + size):
            return finding.misaligned(access, slot, address, size, place)
        return finding.out_of_bounds(access, slot, address, addresses.size, place)

    def _note(
        self,
        access: Access,
        slot: Slot,
        pointers: Array,
        active: Array,
        live: Array | None,
        size: int,
    ) -> None:
        index = slot.leaf.allocation
        if access is not Access.LOAD and index not in self._pristine:
            allocation = self._allocations[index]
            if not allocation.output:
                self._pristine[index] = allocation.memory.copy()
        if self._shadow is not None:
            self._note_in_shadow(self._shadow, access, slot, active, size)
        if self._trace is not None and self._trace.wants(self._program()):
            live = np.ones(pointers.shape, np.bool_) if live is None else live
            self._trace.add(access, slot, pointers, live, self.place())

    def _note_in_shadow(
        self, shadow: Shadow, access: Access, slot: Slot, active: Array, size: int
    ) -> None:
        if access is not Access.STORE:
            address = shadow.unwritten(slot, active, size)
            if address is not None:
                self._find(finding.uninitialized(slot, address, self.place()))
        if access is not Access.LOAD:
            shadow.write(slot, active, size)

    def _find(self, found: Finding) -> None:
        """Keep a finding that does not stop the launch, once for every line."""
        where = (found["argument"], found["line"])
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

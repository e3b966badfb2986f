"""Checks, records and translates each memory access, one program at a time.

An invalid access never reaches memory. The trace of selected programs has limits for accesses and
lanes.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.lines.access_mask import AccessMask
from launch.buffers.allocation import Allocation
from launch.buffers.element_types import Array, stored
from launch.checks import finding
from launch.checks.access import Access, Lanes, Touch
from launch.checks.addresses import SLOT_BITS, AddressSpace, Slot
from launch.checks.finding import DOES, KernelLocation, Stopped, finding_at, index_of, subscript
from launch.checks.modified_inputs import ModifiedInputs
from launch.checks.own_order import OwnConflict, OwnOrder
from launch.checks.races import Races, changing
from launch.checks.steps import Steps
from launch.checks.written_memory import WrittenBytes, WrittenElements
from launch.messages import Finding

MAX_LANES = 500_000
"""Lanes of all traced accesses together."""


class Trace:
    """The accesses of `programs` (all if empty), at most `max_accesses` of them.

    `steps`, if given, records the values that the programs compute.
    """

    def __init__(
        self, programs: list[list[int]], max_accesses: int, steps: Steps | None = None
    ) -> None:
        self.steps = steps
        self._programs = {tuple(program) for program in programs}
        self._max_accesses = max_accesses
        self._lanes = 0
        self._step = 0
        self.accesses: list[dict[str, Any]] = []
        self.truncated = False

    def wants(self, program: tuple[int, int, int] | None) -> bool:
        """Return True if the trace keeps accesses of `program`."""
        return not self._programs or program in self._programs

    def add(self, lanes: Lanes, location: KernelLocation) -> None:
        """Record one access: each lane's index in the argument, `None` for masked lanes."""
        pointers, slot = lanes.touch.pointers, lanes.slot
        if len(self.accesses) >= self._max_accesses or self._lanes + pointers.size > MAX_LANES:
            self.truncated = True
            return
        self._lanes += pointers.size
        size = stored(slot.leaf.dtype).itemsize
        mask = [True] * pointers.size if lanes.live is None else lanes.live.reshape(-1).tolist()
        offsets = (pointers.reshape(-1) - np.uint64(slot.first)).view(np.int64) // size
        indices = [
            index_of(element, slot.leaf) if kept else None
            for element, kept in zip(offsets.tolist(), mask, strict=True)
        ]
        self.accesses.append(
            {
                "step": self._step,
                "program": list(location.program or ()),
                "file": location.file,
                "line": location.line,
                "op": lanes.touch.access.value,
                "argument": slot.leaf.name,
                "shape": list(pointers.shape),
                "indices": indices,
                "mask": mask,
            }
        )
        self._step += 1

    def to_json(self) -> bytes:
        """Return the trace in the form of the API."""
        kept: dict[str, Any] = {"accesses": self.accesses, "truncated": self.truncated}
        if self.steps is not None:
            kept |= {"steps": self.steps.made, "steps_truncated": self.steps.truncated}
        return json.dumps(kept).encode()


MAX_FINDINGS = 20
MAX_FAILED_LOADS = 5


class TooManyAccesses(BaseException):
    """Ends a launch that exceeds its limit of accesses."""


CheckedProgram = tuple[Lanes | None, tuple[int, Array | None] | None]
"""The last access of a suspended program, and its order."""


class AccessChecker:
    """Checks all accesses of one launch."""

    def __init__(
        self,
        space: AddressSpace,
        allocations: Sequence[Allocation],
        location: Callable[[], KernelLocation],
        *,
        written_elements: WrittenElements | None = None,
        trace: Trace | None = None,
        written_bytes: WrittenBytes | None = None,
        unwritten_kind: str = "uninitialized",
        races: Races | None = None,
        max_accesses: int | None = None,
        is_cuda: bool = False,
        own_order: OwnOrder | None = None,
        operation: Callable[[], int] | None = None,
        mask: Callable[[], AccessMask | None] | None = None,
        ignored_axes: Callable[[], frozenset[int]] = frozenset,
    ) -> None:
        """Set the recorders, and the number of accesses after which to raise `TooManyAccesses`.

        `location` returns the kernel's current location in the user's files and its program,
        `operation` the number of its operation, `mask` what is known of its mask, `ignored_axes`
        the axes of the grid that the address of a write does not depend on.
        """
        self._space = space
        self.location = location
        self._written_elements = written_elements
        self._trace = trace
        self._written_bytes, self._unwritten_kind = written_bytes, unwritten_kind
        self._races = races
        self._max_accesses = max_accesses
        self._is_cuda = is_cuda
        self._own_order, self._operation = own_order, operation
        self._mask, self._ignored_axes = mask, ignored_axes
        self._allocations = allocations
        self.inputs = ModifiedInputs(allocations)
        self._found_at: set[tuple[str, str | None, str | None, int | None]] = set()
        self.findings: list[Finding] = []
        self.failed_loads: list[Finding] = []
        """The findings of invalid loads, after which the program went on."""
        self.accesses = 0
        self.reads = 0
        """Accesses that returned contents of memory."""
        self.last: Lanes | None = None
        """The last access in bounds of the running program."""

    def suspend(self) -> CheckedProgram:
        """Return what is known of the running program, which will go on later."""
        return self.last, self._races.order.suspend() if self._races is not None else None

    def resume(self, state: CheckedProgram) -> None:
        """Go on with a program that was suspended."""
        self.last, order = state
        if self._races is not None and order is not None:
            self._races.order.resume(order)
        if self._own_order is not None:
            self._own_order.forget()

    def admit(self, touch: Touch, mask: Array | None) -> Array:
        """Return the real addresses of all unmasked lanes of an access.

        Raises `Stopped` before any memory access if a lane is out of bounds or misaligned.
        """
        self.count(1)
        pointers, size = touch.pointers, touch.size
        whole = mask is None or bool(mask.all())
        live = None if whole or mask is None else np.broadcast_to(mask, pointers.shape)
        active = pointers.reshape(-1) if live is None else pointers[live]
        if not active.size:
            self._trace_untouched(touch, live, int(pointers.flat[0]) if pointers.size else 0)
            return pointers
        low, high = int(active.min()), int(active.max())
        slot = self._space.slot_of(low)
        if slot is None or not slot.holds(low, high + size) or _is_misaligned(active, size):
            return self._admit_each(touch, live)
        self._record(Lanes(touch, slot, live))
        return pointers + np.uint64(slot.distance)

    def _admit_each(self, touch: Touch, live: Array | None) -> Array:
        """Check lane by lane: a lane is invalid, or the lanes belong to several arguments."""
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
                self._record(Lanes(touch, slot, own))
        if bad.any():
            wrong = int(pointers[bad][0])
            own = live & (numbers == wrong >> SLOT_BITS)
            self._trace_untouched(touch, own, wrong)
            raise Stopped(self._fault(touch, pointers[bad]), bad)
        return pointers + distances

    def _trace_untouched(self, touch: Touch, live: Array | None, address: int) -> None:
        """Trace an access that reaches no memory: all lanes are masked, or one is invalid.

        The trace attributes it to the argument that contains `address`, if any.
        """
        if self._trace is None or not touch.pointers.size:
            return
        slot, location = self._space.slot_of(address), self.location()
        if slot is not None and self._trace.wants(location.program):
            self._trace.add(Lanes(touch, slot, live), location)

    def go_on_after(self, failed: Stopped) -> None:
        """Keep the finding of a load, so that its program can go on. Raises it after too many."""
        finding = failed.finding
        known = any((each.line, each.argument) == (finding.line, finding.argument)
                    for each in self.failed_loads)  # fmt: skip
        if not known and len(self.failed_loads) >= MAX_FAILED_LOADS:
            raise failed
        if not known:
            self.failed_loads.append(finding)

    def into_other_argument(self, touch: Touch, slot: Slot, there: Slot, address: int) -> Stopped:
        """Return the exception for a pointer to `slot` that was moved into the range of `there`.

        `address` is the address without wrap-around.
        """
        self._trace_untouched(touch, None, slot.first)
        return Stopped(
            finding.into_other_argument(touch.access, slot, there, address, self.location())
        )

    def count(self, accesses: int) -> None:
        """Count accesses. Raises `TooManyAccesses`."""
        self.accesses += accesses
        if self._max_accesses is not None and self.accesses > self._max_accesses:
            raise TooManyAccesses

    def _fault(self, touch: Touch, addresses: Array) -> Finding:
        address, location = int(addresses[0]), self.location()
        slot = self._space.slot_of(address)
        if slot is None:
            return finding.outside_arguments(touch.access, address, addresses.size, location)
        if slot.holds(address, address + touch.size):
            return finding.misaligned(touch.access, slot, address, touch.size, location)
        mask = None if self._mask is None else self._mask()
        return finding.out_of_bounds(
            touch.access, slot, address, addresses.size, location, form=touch.form, mask=mask
        )

    def _record(self, lanes: Lanes) -> None:
        self.last = lanes
        index, access = lanes.slot.leaf.allocation, lanes.touch.access
        if access is not Access.STORE:
            self.reads += 1
        if access is not Access.LOAD:
            self.inputs.keep(index)
        if self._written_elements is not None and access is Access.STORE:
            values = lanes.values
            if values is not None:
                self._written_elements.store(index, values, lambda: lanes.cells(values.itemsize))
        if self._written_bytes is not None and self._written_bytes.wants(index):
            self._record_written(self._written_bytes, lanes)
        if self._races is not None:
            self._record_for_races(self._races, lanes)
        if self._own_order is not None:
            self._record_own(self._own_order, lanes)
        if self._trace is not None:
            location = self.location()
            if self._trace.wants(location.program):
                self._trace.add(lanes, location)

    def _record_written(self, written_bytes: WrittenBytes, lanes: Lanes) -> None:
        access, slot, size = lanes.touch.access, lanes.slot, lanes.touch.size
        index, cells = slot.leaf.allocation, lanes.cells(size)
        if access is not Access.STORE:
            missing = written_bytes.unwritten(index, cells, size)
            if missing is not None:
                address = int(lanes.addresses[missing][0])
                kind, location = self._unwritten_kind, self.location()
                self.add_finding(finding.uninitialized(kind, slot, address, location))
        if access is not Access.LOAD:
            written_bytes.write(index, cells, size)

    def _record_for_races(self, races: Races, lanes: Lanes) -> None:
        location = self.location()
        conflict = races.note(lanes, location)
        if conflict is not None:
            access, slot = lanes.touch.access, lanes.slot
            self.add_finding(
                finding.race(
                    access, slot, conflict, location,
                    is_cuda=self._is_cuda, ignored_axes=self._ignored_axes(),
                )
            )  # fmt: skip

    def _record_own(self, own_order: OwnOrder, lanes: Lanes) -> None:
        location, access, slot = self.location(), lanes.touch.access, lanes.slot
        changed = changing(self._allocations[slot.leaf.allocation].memory, lanes)
        operation = -1 if self._operation is None else self._operation()
        conflict = own_order.note(lanes, changed, location, operation)
        if conflict is not None:
            self.add_finding(own_race(access, slot, conflict, location))

    def add_finding(self, finding: Finding) -> None:
        """Keep a finding that does not stop the launch, at most one per line."""
        where = (finding.kind, finding.scope, finding.argument, finding.line)
        if where not in self._found_at and len(self.findings) < MAX_FINDINGS:
            self._found_at.add(where)
            self.findings.append(finding)


def _is_misaligned(addresses: Array, size: int) -> bool:
    return bool(int(np.bitwise_or.reduce(addresses)) & (size - 1))


def own_race(
    access: Access, slot: Slot, conflict: OwnConflict, location: KernelLocation
) -> Finding:
    """Return the finding of a conflict: a race, or a warning if a run of today is right."""
    leaf = slot.leaf
    index = index_of((conflict.address - slot.first) // stored(leaf.dtype).itemsize, leaf)
    element, line = subscript(leaf.name, index), conflict.other.line
    is_race = access is not Access.LOAD and not conflict.is_kept_today
    if conflict.stages is not None:
        is_race = True
        message = (
            f"program {location.program} loads {element} at line {location.line}, which line "
            f"{line} stores in the same loop, and that loop is pipelined "
            f"(num_stages={conflict.stages}): the load is issued {_rounds(conflict.stages - 1)} "
            "earlier, before the store. Give the loop num_stages=1, or use the stored value "
            "instead of loading it."
        )
    elif access is Access.LOAD:
        message = (
            f"program {location.program} reads {element} at {_position(conflict.position)}, which "
            f"line {line} wrote at {_position(conflict.other_position)}: in general, another "
            "thread wrote it. The language does not order them. Put tl.debug_barrier() between."
        )
    else:
        message = (
            f"program {location.program} {DOES[access]} {element} at "
            f"{_position(conflict.position)}, which line {line} wrote at "
            f"{_position(conflict.other_position)}: two threads of the program do so in general, "
            "and either may come last. Write each element once, for example with a mask, or put "
            "tl.debug_barrier() between."
        )
        if conflict.is_kept_today:
            message += " An operation between them orders them in what Triton compiles today."
    kind = "race" if is_race else "warning"
    finding = finding_at(kind, location, message, access, leaf.name, index)
    return replace(finding, scope="within_program")


def _position(lane: int) -> str:
    return "several positions" if lane < 0 else f"position {lane} of its block"


def _rounds(count: int) -> str:
    return "a round" if count == 1 else f"up to {count} rounds"

"""Quick screens for races between many programs at once.

They report suspicions, not findings. The caller then runs the programs again, one by one, with
checks that name the race. A screen may thus suspect valid programs but must never miss a race.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from launch.buffers.allocation import Allocation
from launch.buffers.element_types import Array
from launch.checks.modified_inputs import ModifiedInputs
from launch.checks.order_dependence import OrderDependence
from launch.checks.owner_table import Owners, OwnerTable, PossibleRace
from launch.checks.written_memory import Cells, WrittenBytes, WrittenElements


class RaceScreen:
    """Records the readers and writers of each output element; accesses cover whole elements."""

    checks_lanes = True
    """True if lanes of one write must not store different values to one element."""

    def __init__(self, allocations: Sequence[Allocation]) -> None:
        self._allocations = allocations
        self._writers: dict[int, OwnerTable] = {}
        self._readers: dict[int, OwnerTable] = {}
        self._updates: dict[int, str | None] = {}
        """The kinds of this batch's atomic operations, `None` if their order matters."""
        self._owners = Owners(0, np.zeros(0, np.int64))
        self.unwritten_reader: int | None = None
        """The number of the first program that read unwritten memory."""

    def begin(self, numbers: Array) -> Array | None:
        """Begin a batch of programs; return the owner number of each."""
        self._owners = Owners(0, numbers)
        self._updates.clear()
        return self._owners.of_programs

    def wants_reads(self, allocation: int) -> bool:
        """Return True if reads must be reported: writing to a non-output is suspect anyway."""
        return self._allocations[allocation].output

    def read(self, allocation: int, cells: Cells, size: int, owner: Array | None) -> None:
        """Record a read. Raises `PossibleRace` if another program or an atomic operation wrote."""
        known = self._known(allocation, size, owner)
        self._check(self._writers, allocation, cells(), known)
        self._table(self._readers, allocation).share(cells(), known, self._owners)

    def write(self, allocation: int, cells: Cells, size: int, owner: Array | None) -> None:
        """Record a write. Raises `PossibleRace` if another program wrote or read there.

        If lanes of this write store different values to one element, reading it back shows that.
        """
        known = self._known(allocation, size, owner)
        self._check(self._writers, allocation, cells(), known)
        self._check(self._readers, allocation, cells(), known)
        self._table(self._writers, allocation).put(cells(), known)

    def update(
        self, allocation: int, cells: Cells, size: int, owner: Array | None, *, kind: str | None
    ) -> None:
        """Record an atomic operation. Raises `PossibleRace` if other accesses are not atomic.

        It also raises `PossibleRace` if a batch makes two operations on one argument that do not
        commute: that is not a race, but running the programs one by one would give another result.
        """
        self._check_order(allocation, kind)
        known = self._known(allocation, size, owner)
        self._check(self._writers, allocation, cells(), self._owners.atomics)
        self._check(self._readers, allocation, cells(), known)
        self._table(self._writers, allocation).put(cells(), self._owners.atomics)

    def update_within(
        self, allocation: int, cells: Cells, size: int, owner: Array | None, *, kind: str | None
    ) -> None:
        """Record an operation that is atomic within its program. Raises `PossibleRace`."""
        self._check_order(allocation, kind)
        known = self._known(allocation, size, owner)
        self._check(self._writers, allocation, cells(), known)
        self._check(self._readers, allocation, cells(), known)
        self._table(self._writers, allocation).put_all(cells(), known, self._owners)
        self._check(self._writers, allocation, cells(), known)

    def note_unwritten(self, missing: Array, owner: Array | None) -> None:
        """Note that an access reads unwritten memory at the lanes of the mask `missing`."""
        if self.unwritten_reader is None:
            owners = self._owners.of_programs[:1]
            if owner is not None:
                owners = np.broadcast_to(owner, missing.shape)[missing]
            (self.unwritten_reader,) = self._owners.numbers([int(owners[0])])

    def _check_order(self, allocation: int, kind: str | None) -> None:
        if self._owners.of_programs.size > 1:
            if allocation in self._updates and (kind is None or kind != self._updates[allocation]):
                raise PossibleRace
            self._updates[allocation] = kind

    def _known(self, allocation: int, size: int, owner: Array | None) -> Array | int:
        """Return the owner number for tables; only outputs have tables."""
        described = self._allocations[allocation]
        if not described.output or described.memory.itemsize != size:
            raise PossibleRace
        return self._owners.several if owner is None else owner

    def _check(
        self, tables: dict[int, OwnerTable], allocation: int, cells: Array, owner: Array | int
    ) -> None:
        if allocation in tables:
            tables[allocation].check(cells, owner, self._owners)

    def _table(self, tables: dict[int, OwnerTable], allocation: int) -> OwnerTable:
        if allocation not in tables:
            tables[allocation] = OwnerTable(self._allocations[allocation].memory.size)
        return tables[allocation]


@dataclass(frozen=True)
class OrderScreen:
    """Screens accesses in bounds: cells of `size` bytes, counted from an allocation's start.

    Cells are integers of any shape, and the owners of their lanes broadcast to it: the numbers that
    `begin` returned, or `None` if several programs make the same access to the same cells.
    """

    inputs: ModifiedInputs
    written_elements: WrittenElements
    written_bytes: WrittenBytes | None
    meetings: RaceScreen | OrderDependence
    notes_unwritten: bool = False
    """True if a `RaceScreen` only notes who reads unwritten memory, which else is suspect."""

    def begin(self, numbers: Array) -> Array | None:
        """Begin a batch of programs; return the owner number of each, if needed."""
        return self.meetings.begin(numbers)

    def wants_loads(self, allocation: int) -> bool:
        """Return True if loads from an allocation must be reported."""
        if self.written_bytes is not None and self.written_bytes.wants(allocation):
            return True
        return self.meetings.wants_reads(allocation)

    def load(self, allocation: int, cells: Cells, size: int, owner: Array | None) -> None:
        """Screen a load. Raises `PossibleRace`."""
        self._check_written(allocation, cells, size, owner)
        if self.meetings.wants_reads(allocation):
            self.meetings.read(allocation, cells, size, owner)

    def store(self, allocation: int, cells: Cells, values: Array, owner: Array | None) -> None:
        """Screen a store before it is performed. Raises `PossibleRace`."""
        self.inputs.keep(allocation)
        if self.written_elements.wants(allocation):
            self.written_elements.store(allocation, values, cells)
        if self.written_bytes is not None:
            self.written_bytes.write(allocation, cells(), values.itemsize)
        self.meetings.write(allocation, cells, values.itemsize, owner)

    def update(
        self,
        allocation: int,
        cells: Cells,
        size: int,
        owner: Array | None,
        *,
        kind: str | None,
        within_program: bool = False,
    ) -> None:
        """Screen an atomic operation before it is performed. Raises `PossibleRace`."""
        self.inputs.keep(allocation)
        self._check_written(allocation, cells, size, owner)
        if self.written_bytes is not None:
            self.written_bytes.write(allocation, cells(), size)
        meetings = self.meetings
        if within_program and isinstance(meetings, RaceScreen):
            meetings.update_within(allocation, cells, size, owner, kind=kind)
        else:
            meetings.update(allocation, cells, size, owner, kind=kind)

    def _check_written(self, allocation: int, cells: Cells, size: int, owner: Array | None) -> None:
        if self.written_bytes is None:
            return
        missing = self.written_bytes.unwritten(allocation, cells(), size)
        if missing is None:
            return
        if not self.notes_unwritten or not isinstance(self.meetings, RaceScreen):
            raise PossibleRace
        self.meetings.note_unwritten(missing, owner)

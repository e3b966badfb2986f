"""Fast checks of many programs at once: they report no findings, only suspicions.

After a suspicion the programs run again, one after the other, with checks that identify the error.
So a fast check may suspect correct programs, but must never accept a wrong one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from launch.buffers.allocation import Allocation
from launch.buffers.element_types import Array
from launch.checks.modified_inputs import ModifiedInputs
from launch.checks.order_dependence import OrderDependence
from launch.checks.owner_table import Owners, OwnerTable, Suspected
from launch.checks.written_memory import Cells, WrittenBytes, WrittenElements


class RaceScreen:
    """The readers and writers of each element of the outputs; accesses cover whole elements."""

    checks_lanes = True
    """True if lanes of one write must agree at a place."""

    def __init__(self, allocations: Sequence[Allocation]) -> None:
        self._allocations = allocations
        self._writers: dict[int, OwnerTable] = {}
        self._readers: dict[int, OwnerTable] = {}
        self._updates: dict[int, str | None] = {}
        """The kinds of this batch's atomic operations, `None` where their order matters."""
        self._owners = Owners(0, np.zeros(0, np.int64))

    def begin(self, numbers: Array) -> Array | None:
        """Begin a batch of programs; return their numbers."""
        self._owners = Owners(0, numbers)
        self._updates.clear()
        return self._owners.of_programs

    def wants_reads(self, allocation: int) -> bool:
        """Return True if reads must be reported: writes to inputs are suspect anyway."""
        return self._allocations[allocation].output

    def read(self, allocation: int, cells: Cells, size: int, owner: Array | None) -> None:
        """Remember a read. Raises `Suspected` where another program wrote, or atomics did."""
        known = self._known(allocation, size, owner)
        self._check(self._writers, allocation, cells(), known)
        self._table(self._readers, allocation).share(cells(), known, self._owners)

    def write(self, allocation: int, cells: Cells, size: int, owner: Array | None) -> None:
        """Remember a write. Raises `Suspected` where another program wrote or read.

        Lanes of this very write that differ at one place show in what is there afterwards.
        """
        known = self._known(allocation, size, owner)
        self._check(self._writers, allocation, cells(), known)
        self._check(self._readers, allocation, cells(), known)
        self._table(self._writers, allocation).put(cells(), known)

    def update(
        self, allocation: int, cells: Cells, size: int, owner: Array | None, *, kind: str | None
    ) -> None:
        """Remember an atomic operation. Raises `Suspected` beside accesses that are none.

        Also where a batch does two to one argument that may not change places: that is no race, but
        they would end otherwise one program after the other.
        """
        if self._owners.of_programs.size > 1:
            if allocation in self._updates and (kind is None or kind != self._updates[allocation]):
                raise Suspected
            self._updates[allocation] = kind
        known = self._known(allocation, size, owner)
        self._check(self._writers, allocation, cells(), self._owners.atomics)
        self._check(self._readers, allocation, cells(), known)
        self._table(self._writers, allocation).put(cells(), self._owners.atomics)

    def _known(self, allocation: int, size: int, owner: Array | None) -> Array | int:
        """Return the owner's number for tables, which only outputs have."""
        described = self._allocations[allocation]
        if not described.output or described.memory.itemsize != size:
            raise Suspected
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
    """Looks at accesses in bounds: cells of `size` bytes, counted from an allocation's start.

    Cells are integers of any shape, and the owners of their lanes spread to it: what `begin`
    returned for the programs, or `None` where several programs do the same at the same cells.
    """

    inputs: ModifiedInputs
    written_elements: WrittenElements
    written_bytes: WrittenBytes | None
    meetings: RaceScreen | OrderDependence

    def begin(self, numbers: Array) -> Array | None:
        """Begin a batch of programs; return their numbers if needed."""
        return self.meetings.begin(numbers)

    def wants_loads(self, allocation: int) -> bool:
        """Return True if loads from an allocation must be reported at all."""
        if self.written_bytes is not None and self.written_bytes.wants(allocation):
            return True
        return self.meetings.wants_reads(allocation)

    def load(self, allocation: int, cells: Cells, size: int, owner: Array | None) -> None:
        """Look at a load. Raises `Suspected`."""
        self._check_written(allocation, cells, size)
        if self.meetings.wants_reads(allocation):
            self.meetings.read(allocation, cells, size, owner)

    def store(self, allocation: int, cells: Cells, values: Array, owner: Array | None) -> None:
        """Look at a store that is about to be done. Raises `Suspected`."""
        self.inputs.keep(allocation)
        if self.written_elements.wants(allocation):
            self.written_elements.store(allocation, values, cells)
        if self.written_bytes is not None:
            self.written_bytes.write(allocation, cells(), values.itemsize)
        self.meetings.write(allocation, cells, values.itemsize, owner)

    def update(
        self, allocation: int, cells: Cells, size: int, owner: Array | None, *, kind: str | None
    ) -> None:
        """Look at an atomic operation that is about to be done. Raises `Suspected`."""
        self.inputs.keep(allocation)
        self._check_written(allocation, cells, size)
        if self.written_bytes is not None:
            self.written_bytes.write(allocation, cells(), size)
        self.meetings.update(allocation, cells, size, owner, kind=kind)

    def _check_written(self, allocation: int, cells: Cells, size: int) -> None:
        if (
            self.written_bytes is not None
            and self.written_bytes.unwritten(allocation, cells(), size) is not None
        ):
            raise Suspected

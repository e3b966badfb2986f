"""Quick looks at many programs at once: they tell no findings, only that there may be one.

Whoever runs the programs then runs them again, one after the other, with checks that say what it
is. So a look may suspect what turns out to be right, and must never pass what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from launch.buffers.allocation import Allocation
from launch.buffers.element_types import Array
from launch.checks.modified_inputs import ModifiedInputs
from launch.checks.written_memory import WrittenBytes, WrittenElements

_NOBODY = -1
_ATOMICS = -2
_SEVERAL = -3


class Suspected(BaseException):
    """Something may be wrong with what programs do at once. No kernel can catch it."""


@dataclass(frozen=True)
class Suspicion:
    """Looks at accesses in bounds: cells of `size` bytes, counted from an allocation's start.

    Cells are integers of any shape; the programs' numbers spread to it, and are `None` for several
    programs that do the same at the same cells.
    """

    inputs: ModifiedInputs
    written_elements: WrittenElements
    written_bytes: WrittenBytes | None
    races: RaceSuspicion | None

    def wants_loads(self, allocation: int) -> bool:
        """Whether loads from an allocation are to be told at all."""
        if self.written_bytes is not None and self.written_bytes.wants(allocation):
            return True
        return self.races is not None and self.races.wants_reads(allocation)

    def load(self, allocation: int, cells: Array, size: int, numbers: Array | None) -> None:
        """Look at a load. Raises `Suspected`."""
        self._check_written(allocation, cells, size)
        if self.races is not None and self.races.wants_reads(allocation):
            self.races.read(allocation, cells, size, numbers)

    def store(self, allocation: int, cells: Array, values: Array, numbers: Array | None) -> None:
        """Look at a store that is about to be done. Raises `Suspected`."""
        self.inputs.keep(allocation)
        if self.written_elements.wants(allocation):
            wide = np.broadcast_to(values, cells.shape)
            self.written_elements.store(allocation, wide, lambda: cells)
        if self.written_bytes is not None:
            self.written_bytes.write(allocation, cells, values.itemsize)
        if self.races is not None:
            self.races.write(allocation, cells, values.itemsize, numbers)

    def update(self, allocation: int, cells: Array, size: int, numbers: Array | None) -> None:
        """Look at an atomic operation that is about to be done. Raises `Suspected`."""
        self.inputs.keep(allocation)
        self._check_written(allocation, cells, size)
        if self.written_bytes is not None:
            self.written_bytes.write(allocation, cells, size)
        if self.races is not None:
            self.races.update(allocation, cells, size, numbers)

    def _check_written(self, allocation: int, cells: Array, size: int) -> None:
        if (
            self.written_bytes is not None
            and self.written_bytes.unwritten(allocation, cells, size) is not None
        ):
            raise Suspected


class RaceSuspicion:
    """Who read and who wrote each element of the outputs; each access is of whole elements."""

    def __init__(self, allocations: Sequence[Allocation]) -> None:
        self._allocations = allocations
        self._writers: dict[int, Array] = {}
        self._readers: dict[int, Array] = {}

    def wants_reads(self, allocation: int) -> bool:
        """Whether reads are to be told: to write what is no output is suspect anyway."""
        return self._allocations[allocation].output

    def read(self, allocation: int, cells: Array, size: int, numbers: Array | None) -> None:
        """Remember a read. Raises `Suspected` where another program wrote, or atomics did."""
        owners = self._owners(allocation, size, numbers)
        _meet(self._writers.get(allocation), cells, owners)
        readers = self._of(self._readers, allocation)
        before = readers.take(cells)
        readers[cells] = owners
        mixed = (before != _NOBODY) & (before != owners)
        mixed |= readers.take(cells) != owners
        if mixed.any():
            readers[np.broadcast_to(cells, mixed.shape)[mixed]] = _SEVERAL

    def write(self, allocation: int, cells: Array, size: int, numbers: Array | None) -> None:
        """Remember a write. Raises `Suspected` where another program wrote or read.

        Lanes of this very write that differ at one place show in what is there afterwards.
        """
        owners = self._owners(allocation, size, numbers)
        _meet(self._writers.get(allocation), cells, owners)
        _meet(self._readers.get(allocation), cells, owners)
        self._of(self._writers, allocation)[cells] = owners

    def update(self, allocation: int, cells: Array, size: int, numbers: Array | None) -> None:
        """Remember an atomic operation. Raises `Suspected` beside accesses that are none."""
        owners = self._owners(allocation, size, numbers)
        _meet(self._writers.get(allocation), cells, np.array(_ATOMICS, np.int32))
        _meet(self._readers.get(allocation), cells, owners)
        self._of(self._writers, allocation)[cells] = _ATOMICS

    def _owners(self, allocation: int, size: int, numbers: Array | None) -> Array:
        """Return what stands for the programs in the tables."""
        if not self._allocations[allocation].output:
            raise Suspected
        if self._allocations[allocation].memory.itemsize != size:
            raise Suspected
        if numbers is None:
            return np.array(_SEVERAL, np.int32)
        return numbers

    def _of(self, tables: dict[int, Array], allocation: int) -> Array:
        if allocation not in tables:
            count = self._allocations[allocation].memory.size
            tables[allocation] = np.full(count, _NOBODY, np.int32)
        return tables[allocation]


def _meet(table: Array | None, cells: Array, owners: Array) -> None:
    """Raise `Suspected` where a table has somebody else than `owners`; several are never alike."""
    if table is None:
        return
    found = table.take(cells)
    if found.max(initial=_NOBODY) == _NOBODY and found.min(initial=_NOBODY) == _NOBODY:
        return
    strangers = (found != _NOBODY) & ((found != owners) | (found == _SEVERAL))
    if strangers.any():
        raise Suspected

"""Detects batches of programs whose result may differ from running them one by one.

That happens if one program accesses an element that another program changes in another access. The
check compares programs within one batch, and only arguments with more than one access.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from launch.buffers.allocation import Allocation
from launch.buffers.element_types import Array
from launch.checks.owner_table import Owners, OwnerTable, PossibleRace
from launch.checks.written_memory import Cells

_MAX_PENDING = 2
"""Reads that are kept in a list before they move to a table."""
_MAX_OWNERS = (1 << 31) - 1

_Pending = tuple[Cells, int, "Array | int"]
"""Cells, their size, their owners."""


@dataclass
class _Touched:
    """The accesses of this batch to one allocation."""

    first_write: _Pending | None = None
    """The first access, while it is the only one and the tables are empty."""
    reads: list[_Pending] = field(default_factory=list)
    has_writes: bool = False
    has_reads_in_table: bool = False
    updates: str | None = None
    """The kind of its atomic operations, which commute with each other."""


class OrderDependence:
    """Checks the accesses of one batch after another."""

    checks_lanes = False

    def __init__(self, allocations: Sequence[Allocation]) -> None:
        self._allocations = allocations
        self._writers: dict[int, OwnerTable] = {}
        self._readers: dict[int, OwnerTable] = {}
        self._touched: dict[int, _Touched] = {}
        self._next = 0
        self._owners: Owners | None = None

    def begin(self, numbers: Array) -> Array | None:
        """Begin a batch; return owner numbers of its programs, `None` for a single program."""
        self._touched.clear()
        self._owners = None
        if numbers.size == 1:
            return None
        if self._next + numbers.size + 2 > _MAX_OWNERS:
            self._writers.clear()
            self._readers.clear()
            self._next = 0
        self._owners = Owners(self._next, abs(numbers - numbers[0]))
        self._next += numbers.size + 2
        return self._owners.of_programs

    def wants_reads(self, allocation: int) -> bool:
        """Return True if reads must be reported: writing to a non-output is suspect anyway."""
        return self._owners is not None and self._allocations[allocation].output

    def read(self, allocation: int, cells: Cells, size: int, owner: Array | None) -> None:
        """Record a read. Raises `PossibleRace` if another program wrote there."""
        if self._owners is None:
            return
        touched = self._touched_of(allocation)
        if touched.updates is not None:
            raise PossibleRace
        read = cells, size, self._owners.several if owner is None else owner
        if touched.has_writes:
            self._enter_first(allocation, touched)
            self._check(self._writers, allocation, read)
        touched.reads.append(read)
        if len(touched.reads) > _MAX_PENDING:
            self._enter_reads(allocation, touched)

    def write(self, allocation: int, cells: Cells, size: int, owner: Array | None) -> None:
        """Record a write. Raises `PossibleRace` if another program wrote or read there."""
        if self._owners is None:
            return
        touched = self._touched_of(allocation)
        if touched.updates is not None or not self._allocations[allocation].output:
            raise PossibleRace
        write = cells, size, self._owners.several if owner is None else owner
        if not touched.has_writes and not touched.reads and not touched.has_reads_in_table:
            touched.first_write, touched.has_writes = write, True
            return
        self._enter_first(allocation, touched)
        if touched.has_writes:
            self._check(self._writers, allocation, write)
        if touched.has_reads_in_table:
            self._check(self._readers, allocation, write)
        touched.has_writes = True
        # a program that reads an element and writes it last would hide earlier writers
        self._table(self._writers, allocation, size).put_all(cells(), write[2], self._owners)
        for read in touched.reads:
            self._check(self._writers, allocation, read)

    def update(
        self, allocation: int, cells: Cells, size: int, owner: Array | None, *, kind: str | None
    ) -> None:
        """Record an atomic operation, with its `kind` if two of that kind commute.

        Raises `PossibleRace` if the batch accesses the same argument in another way.
        """
        if kind is None:
            self.write(allocation, cells, size, owner)
            return
        if self._owners is None:
            return
        touched = self._touched_of(allocation)
        if touched.has_writes or touched.reads or touched.has_reads_in_table:
            raise PossibleRace
        if not self._allocations[allocation].output or touched.updates not in {None, kind}:
            raise PossibleRace
        touched.updates = kind

    def _touched_of(self, allocation: int) -> _Touched:
        return self._touched.setdefault(allocation, _Touched())

    def _enter_first(self, allocation: int, touched: _Touched) -> None:
        if touched.first_write is not None:
            cells, size, owner = touched.first_write
            self._table(self._writers, allocation, size).put(cells(), owner)
            touched.first_write = None

    def _enter_reads(self, allocation: int, touched: _Touched) -> None:
        assert self._owners is not None
        for cells, size, owner in touched.reads:
            self._table(self._readers, allocation, size).share(cells(), owner, self._owners)
        touched.reads.clear()
        touched.has_reads_in_table = True

    def _check(self, tables: dict[int, OwnerTable], allocation: int, access: _Pending) -> None:
        assert self._owners is not None
        cells, size, owner = access
        self._table(tables, allocation, size).check(cells(), owner, self._owners)

    def _table(self, tables: dict[int, OwnerTable], allocation: int, size: int) -> OwnerTable:
        """Return the table of an allocation. Raises `PossibleRace` for cells of another size."""
        memory = self._allocations[allocation].memory
        if memory.itemsize != size:
            raise PossibleRace
        if allocation not in tables:
            tables[allocation] = OwnerTable(memory.size)
        return tables[allocation]

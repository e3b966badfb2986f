"""Compares what runs of a kernel left in memory, byte by byte and on the GPU.

A digest would show that two runs differ; this also counts by how much, and how much poison a run
left where the other one wrote, so that of many runs the worst can be kept for a closer look.
Imported in launchers only.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from cuda.bindings import driver as cu

from worker.gpu.launcher.device import GpuDevice, check
from worker.gpu.launcher.guarded_memory import GuardedBlock, GuardedMemory
from worker.gpu.timing_integrity.run_comparison_ptx import ENTRY, PTX

_THREADS = 256
_BLOCKS_A_MULTIPROCESSOR = 6
_TABLE_WORDS = 8
_WORD = 8
_UNITS = (16, 4, 2)
_WIDEST_ITEM = 4
TALLY_BYTES = 32
ROW_BYTES = _TABLE_WORDS * _WORD
"""The size of a table's row, which describes one piece."""


@dataclass(frozen=True, slots=True)
class Poison:
    """The byte that lay everywhere before a run, and how many of them are an element."""

    byte: int
    item_bytes: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Memory at `run` that is compared with `other`; the worst run's is copied to `kept`, if any.

    `poison` was at `run` before the run, if it shows that an element was not written.
    """

    run: int
    other: int
    size_bytes: int
    poison: Poison | None = None
    kept: int = 0

    def row(self, left: int) -> list[int]:
        """Return the row of the kernel's table, of which `left` are left from this one on.

        It is of the widest unit that all addresses allow.
        """
        places = self.run | self.other | self.kept | self.size_bytes
        unit = next((unit for unit in _UNITS if places % unit == 0), 1)
        byte, item = (self.poison.byte, self.poison.item_bytes) if self.poison else (0, 0)
        word = int.from_bytes(bytes([byte]) * _WIDEST_ITEM, "little")
        units = self.size_bytes // unit
        item = min(item, _WIDEST_ITEM)
        return [self.run, self.other, self.kept, units, unit, word, item, left]


@dataclass(frozen=True, slots=True)
class Tally:
    """The differences of a run: differing bytes, and bytes of elements that hold the poison."""

    differing_bytes: int
    left_bytes: int

    @property
    def weight(self) -> int:
        """The kernel's measure of the worst run: unwritten bytes outweigh differing ones."""
        return min(self.left_bytes, 2**31 - 1) << 32 | min(self.differing_bytes, 2**32 - 1)


@dataclass(frozen=True, slots=True)
class ComparisonTable:
    """Pieces that one launch compares, and its number of blocks, written to the GPU."""

    address: int
    """0: of no pieces."""
    blocks: int


class RunComparison:
    """The kernel that compares, loaded once for a launcher. Raises CudaError."""

    def __init__(self, device: GpuDevice, memory: GuardedMemory) -> None:
        self._stream = device.stream
        self._memory = memory
        module = check(cu.cuModuleLoadData(PTX), "loading the comparing kernel")
        self._function = check(cu.cuModuleGetFunction(module, ENTRY), "finding it")
        self._values = (ctypes.c_uint64(), ctypes.c_uint64())
        self._parameters = (ctypes.c_void_p * 2)(*map(ctypes.addressof, self._values))
        self._pointers = ctypes.addressof(self._parameters)
        self._most_blocks = device.multiprocessors * _BLOCKS_A_MULTIPROCESSOR

    def tables(
        self, lists: Sequence[Sequence[Piece]], block: GuardedBlock | None = None
    ) -> list[ComparisonTable]:
        """Write tables of pieces to the GPU, for the current job, into `block` if there is one.

        Its tables from before must not be needed any more.
        """
        rows = [
            [piece.row(len(pieces) - place) for place, piece in enumerate(pieces)]
            for pieces in lists
        ]
        flat = np.array([number for table in rows for row in table for number in row], np.uint64)
        if not flat.size:
            return [ComparisonTable(0, 1) for _ in lists]
        if block is None:
            block = self._memory.take(flat.nbytes, 16)
        self._memory.write(block.address, flat.view(np.uint8))
        made, at = [], block.address
        for table in rows:
            largest = max((row[3] for row in table), default=0)
            blocks = max(1, min(-(-largest // _THREADS), self._most_blocks))
            made.append(ComparisonTable(at if table else 0, blocks))
            at += len(table) * ROW_BYTES
        return made

    def compare(self, table: ComparisonTable, tally: int) -> None:
        """Queue the comparison of a table's pieces; its counts go to the tally at that address.

        The worst so far, and its copy, are those of the tallies before it in one `Tallies`.
        """
        address, at = self._values
        address.value, at.value = table.address, tally
        launched = cu.cuLaunchKernel(
            self._function, table.blocks, 1, 1, _THREADS, 1, 1, 0, self._stream, self._pointers, 0
        )
        check(launched, "launching the comparing kernel")


class Tallies:
    """Room for the counts of `most` runs, one after the other; all zero at first."""

    def __init__(self, memory: GuardedMemory, most: int) -> None:
        self._memory = memory
        self._block: GuardedBlock = memory.take((most + 1) * TALLY_BYTES, 16)
        self.most = most
        self.clear()

    def clear(self) -> None:
        """Queue that all counts are zero again."""
        self._memory.fill(self._block.address, self._block.size_bytes, 0)

    def address(self, index: int) -> int:
        """Return where the counts of a run go."""
        return self._block.address + index * TALLY_BYTES

    def read(self, count: int) -> list[Tally]:
        """Return the counts of the first runs, after all work queued so far. Raises CudaError."""
        raw = self._memory.read(self._block.address, count * TALLY_BYTES).view(np.uint64)
        rows = raw.reshape(count, TALLY_BYTES // _WORD).tolist()
        return [Tally(int(row[0]), int(row[1])) for row in rows]

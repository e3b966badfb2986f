"""Sees to it that all runs of a kernel on the same inputs leave what the first one left.

A kernel that counts its runs can do its work only in those that are looked at; so each is looked
at, on the GPU, right behind its end and outside of its time. The worst is kept. Imported in
launchers only.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from cuda.bindings import driver as cu

from worker.gpu.launcher.contents import Contents
from worker.gpu.launcher.device import check
from worker.gpu.launcher.guarded_buffers import Buffers
from worker.gpu.launcher.guarded_memory import GuardedBlock, GuardedMemory
from worker.gpu.launcher.launcher_context import LauncherContext
from worker.gpu.timing_integrity.run_comparison import Piece, Poison, Tallies, Tally
from worker.gpu.timing_integrity.timed_iteration import IterationsReport, TimedIteration

MAX_RUNS = 10_200
"""Timed and to warm up: as many as a stopwatch makes at most."""
_PART_OF_FREE_MEMORY = 0.5
_SMALL_BYTES = 64 << 20
COPY_ALIGN_BYTES = 16

Blocks = Mapping[int, GuardedBlock]
"""Copies of allocations, by their number."""


def copies_of(memory: GuardedMemory, buffers: Buffers, allocations: Sequence[int]) -> Blocks:
    """Queue copies of the current contents of some allocations. Raises CudaError."""
    copies = empty_copies(memory, buffers, allocations)
    for index, copy in copies.items():
        memory.copy(copy.address, buffers.blocks[index].address, copy.size_bytes)
    return copies


def empty_copies(memory: GuardedMemory, buffers: Buffers, allocations: Sequence[int]) -> Blocks:
    """Return memory for copies. Raises CudaError."""
    sizes = {index: buffers.blocks[index].size_bytes for index in allocations}
    return {index: memory.take(size, COPY_ALIGN_BYTES) for index, size in sizes.items()}


def has_room_for(size_bytes: int) -> bool:
    """Return True if so much memory is free beyond the needs of a job. Raises CudaError."""
    if size_bytes <= _SMALL_BYTES:
        return True  # asking takes longer than all that is done with it
    free: Any = check(cu.cuMemGetInfo(), "asking for free memory")
    return size_bytes <= int(free[0]) * _PART_OF_FREE_MEMORY


def poison_in(contents: Contents, allocation: int, *, least_bytes: int = 1) -> Poison | None:
    """Return the poison that is in an allocation before each run.

    None where there is none, and for elements of less than `least_bytes`, too many of which may
    equal it.
    """
    item_bytes = contents.item_bytes(allocation)
    if not contents.is_poisoned(allocation) or item_bytes < least_bytes:
        return None
    return Poison(contents.poisons[allocation], item_bytes)


class IterationChecker:
    """Compares each run's contents of `allocations` with `first`, copies of one run's."""

    def __init__(
        self, context: LauncherContext, contents: Contents, sets: Sequence[Buffers], first: Blocks
    ) -> None:
        self._comparison = context.comparison
        self.kept = empty_copies(context.memory, sets[0], list(first))
        self._tallies = Tallies(context.memory, MAX_RUNS)
        pieces = [
            [
                Piece(
                    buffers.blocks[index].address,
                    copy.address,
                    copy.size_bytes,
                    poison_in(contents, index),
                    self.kept[index].address,
                )
                for index, copy in first.items()
            ]
            for buffers in sets
        ]
        self._tables = self._comparison.tables(pieces)
        self._seen = 0

    def check(self, turn: int) -> None:
        """Queue a look at the run that was queued last, on the buffers of `turn`."""
        if self._seen < MAX_RUNS:
            table = self._tables[turn % len(self._tables)]
            self._comparison.compare(table, self._tallies.address(self._seen))
            self._seen += 1

    def report(self, timed: int) -> IterationsReport:
        """Return what became of the runs, of which the last `timed` were not to warm up.

        `kept` holds what the one that is sent left. Raises CudaError.
        """
        tallies = self._tallies.read(self._seen) if self._seen else []
        before = len(tallies) - timed
        worst = worst_of(tallies)
        sent: tuple[TimedIteration, ...] = ()
        if worst is not None:
            tally = tallies[worst]
            sent = (
                TimedIteration(
                    worst - before,
                    differing_bytes=tally.differing_bytes,
                    left_bytes=tally.left_bytes,
                ),
            )
        differing = sum(tally.differing_bytes > 0 for tally in tallies[before:])
        return IterationsReport(timed, differing, sent)


def worst_of(tallies: Sequence[Tally]) -> int | None:
    """Return which run differs the most, the first of several; None: none does."""
    worst = max(range(len(tallies)), key=lambda at: (tallies[at].weight, -at), default=None)
    return None if worst is None or tallies[worst].weight == 0 else worst

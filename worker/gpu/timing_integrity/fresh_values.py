"""Timed runs with fresh inputs each, and a second check of every one.

What a run keeps from the runs before it is worth nothing where no two have the same inputs. In each
round some runs are timed, and what they leave is put aside; then a freshly loaded copy of the
kernel, which has no past, runs on the same inputs in another order. Imported in launchers only.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import SystemRandom

from launch.buffers.iteration_seeds import iteration_seeds
from worker.gpu.launcher.contents import Contents
from worker.gpu.launcher.guarded_buffers import Buffers, InitialContents
from worker.gpu.launcher.launcher_context import LauncherContext
from worker.gpu.launcher.launcher_order import LauncherOrder, TimingOrder
from worker.gpu.launcher.loaded_kernel import LoadedKernel
from worker.gpu.launcher.timing import TimedWork
from worker.gpu.timing_integrity.iteration_checker import Blocks, empty_copies, poison_in
from worker.gpu.timing_integrity.iteration_selection import PLACES, IterationSelection
from worker.gpu.timing_integrity.run_comparison import (
    ROW_BYTES,
    ComparisonTable,
    Piece,
    Tallies,
    Tally,
)
from worker.gpu.timing_integrity.timed_iteration import IterationsReport, TimedIteration

MAX_IN_A_ROUND = 16
"""The most repeats that a stopwatch queues at a time."""
MAX_ROUND_BYTES = 2 << 30
"""The limit for inputs and outputs kept in a round; one repeat always fits."""
_MIN_ITERATIONS = 3
_MIN_POISON_BYTES = 2
"""Smaller values equal the poison in every 256th byte by chance."""
_ALIGN_BYTES = 256


@dataclass(frozen=True, slots=True)
class TimedKernel:
    """The timed kernel with its sets of buffers; `first` are copies of its first run's outputs.

    `load` loads it again: its global variables are then what they were before that run.
    """

    kernel: LoadedKernel
    load: Callable[[], LoadedKernel]
    contents: Contents
    initial: InitialContents
    sets: Sequence[Buffers]
    first: Blocks


@dataclass(frozen=True, slots=True)
class _Slot:
    """Where one repeat of a round has its random inputs, and what it left: addresses."""

    inputs: Mapping[int, int]
    left: Mapping[int, int]


class FreshValues:
    """Runs of a kernel, each on random inputs from a different seed. Raises CudaError."""

    def __init__(
        self, context: LauncherContext, job: LauncherOrder, timed: TimedKernel, order: TimingOrder
    ) -> None:
        self._memory = context.memory
        self._comparison = context.comparison
        self._uniform = context.uniform
        self._clear_registers = context.registers.clear
        self._job, self._timed, self._order = job, timed, order
        sizes = timed.contents.sizes_bytes
        random = iteration_seeds(job.allocations, order.seed, 0)
        self._random = {
            index: sizes[index]
            for index, allocation in enumerate(job.allocations)
            if allocation["name"] in random
        }
        self._left = {index: sizes[index] for index in timed.first}
        self._slots = self._make_slots()
        self._tables = self._make_tables()
        self._tallies = Tallies(self._memory, 2 * len(self._slots))
        self._watched = [index for index in self._random if index not in self._left]
        self._input_tables: list[ComparisonTable] = []
        rows = max(1, len(self._slots) * len(self._watched))
        self._input_block = self._memory.take(rows * ROW_BYTES, _ALIGN_BYTES)
        self._input_tallies = Tallies(self._memory, rows)
        self.modified: set[int] = set()
        """Allocations of random inputs that some repeat changed, though they are no outputs."""
        self._selection = IterationSelection(SystemRandom())
        first = list(timed.first)
        self._copies = [empty_copies(self._memory, timed.sets[0], first) for _ in range(PLACES)]
        self._turn = 0
        self._slot: int | None = None
        self._repeats = self._differing = 0
        self._spent_s = 0.0
        """The time spent on values and reruns, which is limited per launch."""

    @property
    def work(self) -> TimedWork:
        """The work for a stopwatch."""
        timed, copies = self._timed, len(self._random) + len(self._left) + len(self._watched)
        operations = timed.initial.operations_on(timed.sets[0]) + copies
        return TimedWork(
            self._launch, self._restore, operations, self._put_aside, self._ready, self._done
        )

    @property
    def random(self) -> frozenset[int]:
        """The allocations whose values are others in each repeat."""
        return frozenset(self._random)

    def report(self) -> tuple[IterationsReport, list[Blocks]]:
        """Return what became of all repeats, and what each that is sent left."""
        chosen = self._selection.chosen
        sent = tuple(chosen.values())
        left = [self._copies[place] for place in chosen]
        return IterationsReport(self._repeats, self._differing, sent), left

    def _make_slots(self) -> list[_Slot]:
        """Take memory for a round: as many repeats as there is room for."""
        sizes = [*self._random.values(), *self._left.values()]
        slot_bytes = max(1, sum(map(_padded, sizes)))
        wanted = min(MAX_IN_A_ROUND, max(self._order.min_repeats, _MIN_ITERATIONS))
        count = max(1, min(wanted, MAX_ROUND_BYTES // slot_bytes))
        at = self._memory.take(count * slot_bytes, _ALIGN_BYTES).address
        slots = []
        for _ in range(count):
            places: list[dict[int, int]] = []
            for group in (self._random, self._left):
                places.append({})
                for index, size_bytes in group.items():
                    places[-1][index] = at
                    at += _padded(size_bytes)
            slots.append(_Slot(*places))
        return slots

    def _make_tables(self) -> list[tuple[ComparisonTable, ComparisonTable]]:
        """Return for each slot what compares it with a rerun, and with the first run."""
        reruns = self._timed.sets[0].blocks
        contents = self._timed.contents
        pieces = []
        for slot in self._slots:
            left = [(index, slot.left[index], size) for index, size in self._left.items()]
            pieces.append([Piece(at, reruns[index].address, size) for index, at, size in left])
            pieces.append(
                [
                    Piece(
                        at,
                        self._timed.first[index].address,
                        size,
                        poison_in(contents, index, least_bytes=_MIN_POISON_BYTES),
                    )
                    for index, at, size in left
                ]
            )
        tables = self._comparison.tables(pieces)
        return list(zip(tables[::2], tables[1::2], strict=True))

    def _ready(self, count: int) -> int:
        """Make the values of the next repeats; return of how many, 0 when that took too long."""
        started = time.monotonic()
        self._slot = 0
        made = 0
        for slot in self._slots[:count]:
            iteration = self._repeats + made
            if iteration >= _MIN_ITERATIONS and self._spent_s * 1000 > self._order.values_ms:
                break
            self._make_values(slot, iteration)
            made += 1
            self._spent_s += time.monotonic() - started
            started = time.monotonic()
        self._watch_inputs(made)
        return made

    def _watch_inputs(self, count: int) -> None:
        """Make ready to see whether the next repeats change inputs, each on its set of buffers."""
        sets = self._timed.sets
        turns = [sets[(self._turn + 1 + place) % len(sets)].blocks for place in range(count)]
        pieces = [
            [Piece(blocks[index].address, slot.inputs[index], self._random[index])]
            for slot, blocks in zip(self._slots, turns, strict=False)
            for index in self._watched
        ]
        self._input_tables = self._comparison.tables(pieces, self._input_block)
        self._input_tallies.clear()

    def _make_values(self, slot: _Slot, iteration: int) -> None:
        seeds = iteration_seeds(self._job.allocations, self._order.seed, iteration)
        for index, address in slot.inputs.items():
            seed = seeds[self._job.allocations[index]["name"]]
            numbers = self._timed.contents.drawn(index, seed=seed)
            if numbers is not None and self._uniform.is_exact:
                self._uniform.draw(numbers, address)
                continue
            content = self._timed.contents.initial(index, seed=seed)
            assert content is not None
            self._memory.write(address, content)

    def _restore(self) -> None:
        self._turn += 1
        self._give(self._slot, self._current)

    @property
    def _current(self) -> Buffers:
        return self._timed.sets[self._turn % len(self._timed.sets)]

    def _give(self, slot: int | None, buffers: Buffers) -> None:
        """Queue what makes buffers ready for a repeat; None: for a run to warm up."""
        self._timed.initial.restore(buffers)
        if slot is not None:
            for index, address in self._slots[slot].inputs.items():
                self._memory.copy(buffers.blocks[index].address, address, self._random[index])

    def _launch(self) -> None:
        self._timed.kernel.launch(self._current.parameters)

    def _put_aside(self) -> None:
        """Queue a copy of the repeat's outputs, and a check of its inputs."""
        if self._slot is None:
            return
        for index, address in self._slots[self._slot].left.items():
            source = self._current.blocks[index]
            self._memory.copy(address, source.address, source.size_bytes)
        for place in range(self._slot * len(self._watched), (self._slot + 1) * len(self._watched)):
            self._comparison.compare(self._input_tables[place], self._input_tallies.address(place))
        self._slot += 1

    def _done(self, count: int) -> None:
        """Look at the repeats of a round: run each again, in an order drawn by chance."""
        started = time.monotonic()
        self._note_changed_inputs(count)
        order = list(range(count))
        SystemRandom().shuffle(order)
        self._tallies.clear()
        for slot in order:
            self._run_again(slot)
        tallies = self._tallies.read(2 * count)
        for slot in range(count):
            self._choose(slot, tallies[2 * slot], tallies[2 * slot + 1])
        self._memory.wait()
        self._repeats += count
        self._slot = None
        self._spent_s += time.monotonic() - started

    def _note_changed_inputs(self, count: int) -> None:
        if self._watched:
            tallies = self._input_tallies.read(count * len(self._watched))
            for place, tally in enumerate(tallies):
                if tally.differing_bytes:
                    self.modified.add(self._watched[place % len(self._watched)])

    def _run_again(self, slot: int) -> None:
        buffers = self._timed.sets[0]
        self._give(slot, buffers)
        fresh = self._timed.load()
        self._clear_registers()
        fresh.launch(buffers.parameters)
        rerun, first = self._tables[slot]
        self._comparison.compare(rerun, self._tallies.address(2 * slot))
        self._comparison.compare(first, self._tallies.address(2 * slot + 1))
        self._memory.wait()
        fresh.unload()

    def _choose(self, slot: int, rerun: Tally, first: Tally) -> None:
        iteration = self._repeats + slot
        self._differing += rerun.differing_bytes > 0
        timed = TimedIteration(
            iteration,
            iteration_seeds(self._job.allocations, self._order.seed, iteration),
            differing_bytes=rerun.differing_bytes,
            left_bytes=first.left_bytes,
            equals_first=not first.differing_bytes,
        )
        for place in self._selection.offer(timed):
            for index, block in self._copies[place].items():
                self._memory.copy(block.address, self._slots[slot].left[index], block.size_bytes)


def _padded(size_bytes: int) -> int:
    return -(-size_bytes // _ALIGN_BYTES) * _ALIGN_BYTES

"""The timed runs of one job: what the stopwatch runs, and what became of every run.

Imported in launchers only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from launch.buffers.allocation import Leaf
from worker.gpu.launcher.contents import Bytes, Contents, Flags, Outputs, missing_later
from worker.gpu.launcher.guarded_buffers import Buffers, Rotation, read_output
from worker.gpu.launcher.guarded_memory import GuardedMemory
from worker.gpu.launcher.launcher_context import LauncherContext
from worker.gpu.launcher.launcher_order import LauncherOrder, TimingOrder
from worker.gpu.launcher.run_outputs import Output, RunOutputs, Send, send_missing
from worker.gpu.launcher.timing import TimedWork
from worker.gpu.timing_integrity.fresh_values import FreshValues, TimedKernel
from worker.gpu.timing_integrity.iteration_checker import (
    Blocks,
    IterationChecker,
    copies_of,
    has_room_for,
)
from worker.gpu.timing_integrity.timed_iteration import IterationsReport, TimedIteration

_COPIES = 2
"""The copies of outputs: those of the first run, and of the worst run."""


def copies_of_first(
    memory: GuardedMemory, contents: Contents, buffers: Buffers, order: TimingOrder
) -> Blocks:
    """Queue copies of the memory that the first run may write, if there is room for them.

    With values of each repeat's own there has to be. Raises CudaError.
    """
    written = sorted(contents.written)
    size_bytes = _COPIES * sum(contents.sizes_bytes[index] for index in written)
    if order.fresh_inputs != "values" and not has_room_for(size_bytes):
        return {}
    return copies_of(memory, buffers, written)


class TimedRuns:
    """Runs of a kernel for a stopwatch. Raises CudaError.

    Each is compared with the first run, or where it has different values with a freshly loaded
    kernel; without copies of the first run's memory none is.
    """

    def __init__(
        self, context: LauncherContext, job: LauncherOrder, timed: TimedKernel, order: TimingOrder
    ) -> None:
        self._memory = context.memory
        self._contents = timed.contents
        self._values: FreshValues | None = None
        self._checker: IterationChecker | None = None
        self._rotation = Rotation(timed.kernel, timed.initial, timed.sets)
        if order.fresh_inputs == "values":
            self._values = FreshValues(context, job, timed, order)
        elif timed.first:
            self._checker = IterationChecker(context, timed.contents, timed.sets, timed.first)

    @property
    def work(self) -> TimedWork:
        """The work for a stopwatch."""
        if self._values is not None:
            return self._values.work
        work, checker, rotation = self._rotation.work, self._checker, self._rotation
        if checker is None:
            return work
        inspect = lambda: checker.check(rotation.turn)  # noqa: E731 - a name for it adds nothing
        return replace(work, operations=work.operations + 1, inspect=inspect)

    @property
    def random(self) -> frozenset[int]:
        """The allocations that do not hold the launch's own values any more."""
        return frozenset() if self._values is None else self._values.random

    @property
    def modified(self) -> frozenset[int]:
        """The inputs that a run changed, though they are not outputs."""
        return frozenset() if self._values is None else frozenset(self._values.modified)

    def report(self, timed: int) -> tuple[IterationsReport, list["Copies"]] | None:
        """Return what became of the runs, the last `timed` of them, and what those sent left.

        None where they were not compared.
        """
        if self._values is not None:
            report, left = self._values.report()
        elif self._checker is not None:
            report = self._checker.report(timed)
            left = [self._checker.kept] * len(report.sent)
        else:
            return None
        return report, [Copies(self._memory, self._contents, blocks) for blocks in left]


@dataclass(frozen=True, slots=True)
class Copies:
    """The contents of a run's allocations after it, as copies."""

    memory: GuardedMemory
    contents: Contents
    blocks: Blocks

    def read(self, leaf: Leaf) -> Output:
        """Return the elements of an output in C order. Raises CudaError, JobFailed."""
        return read_output(self.memory, self.contents, self.blocks[leaf.allocation], leaf)


@dataclass(frozen=True, slots=True)
class FirstRun:
    """The outputs of the first run: elements, and masks of the unwritten ones."""

    elements: Outputs
    missing: Mapping[str, Flags]

    def missing_in(
        self, iteration: TimedIteration, contents: Contents, outputs: Outputs
    ) -> Mapping[str, Flags]:
        """Return which elements of a repeat's outputs it did not write."""
        if iteration.seeds:
            return contents.surely_unwritten(outputs)
        return missing_later(contents, self.elements, self.missing, outputs)

    def differing_in(self, outputs: Outputs) -> set[str]:
        """Return the outputs that are not those of the first run."""
        pairs = {
            name: (_octets(elements), _octets(self.elements[name]))
            for name, elements in outputs.items()
        }
        return {name for name, (now, before) in pairs.items() if not np.array_equal(now, before)}


def _octets(elements: bytes | Bytes) -> Bytes:
    return np.frombuffer(elements, np.uint8) if isinstance(elements, bytes) else elements


def send_iterations(
    send: Send, contents: Contents, first: FirstRun, report: IterationsReport, left: list[Copies]
) -> set[str]:
    """Send what the runs of a report left, and which elements they did not write.

    Return the outputs of those on the launch's own inputs that are not the first run's.
    """
    differing: set[str] = set()
    for index, (iteration, copies) in enumerate(zip(report.sent, left, strict=True)):
        outputs = RunOutputs(contents, copies)
        outputs.send(send, f"repeat-{index}")
        missing = first.missing_in(iteration, contents, outputs.elements)
        send_missing(send, f"repeat_unwritten-{index}", missing)
        if not iteration.seeds:
            differing |= first.differing_in(outputs.elements)
        outputs.release()
    return differing

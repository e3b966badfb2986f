"""Runs all programs of a grid: many at once, and one by one where something is off.

Of what is suspected while programs run at once, nothing is told. The launch begins again on the
memory as it was: programs up to those run at once again, the rest one after the other with exact
checks. So findings, outputs and their order are those of programs that run one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.numpy_module.run_form import RunForm
from launch.buffers.element_types import Array
from launch.checks.addresses import AddressSpace
from launch.checks.checked_memory import Watch
from launch.checks.disturbance import Disturbance
from launch.checks.finding import KernelPlace, Stopped
from launch.checks.kernel_run import KernelRun, RunOptions
from launch.checks.owner_table import Suspected
from launch.checks.races import Races
from launch.checks.suspicion import RaceSuspicion, Suspicion
from launch.checks.written_memory import WrittenBytes, WrittenElements
from launch.cpu.arguments import arguments_of
from launch.cpu.freed_memory import keep_freed_memory
from launch.cpu.kernel import Kernel
from launch.cpu.launch_memory import LaunchMemory
from launch.cpu.locator import Locator
from launch.cpu.memory import ProgramMemory
from launch.cpu.places import Places
from launch.cpu.pointer import Pointer
from launch.cpu.programs import Programs
from launch.cpu.tells import Tells
from launch.messages import RunOrder

MOST_PROGRAMS_TO_SUSPECT = 1 << 31
"""Their numbers fit the tables of who read and wrote what."""


def run_grid(form: RunForm, order: RunOrder, memory: LaunchMemory, how: RunOptions) -> KernelRun:
    """Run the kernel once. Raises `Failure`, and `TooManyAccesses`."""
    total = math.prod(order.grid)
    watches_races = "racecheck" in how.checks
    is_exact = how.trace is not None or form.prints  # what was printed cannot be taken back
    if is_exact or (watches_races and total > MOST_PROGRAMS_TO_SUSPECT):
        return GridLaunch(form, order, memory, how, exact_from=0).run()
    try:
        return GridLaunch(form, order, memory, how, exact_from=total).run()
    except SuspectedAt as suspected:
        exact_from = 0 if watches_races else suspected.program
    return GridLaunch(form, order, memory, how, exact_from).run()


class SuspectedAt(Suspected):
    """Something may be wrong with what programs did from the `program`th on, in their order."""

    def __init__(self, program: int) -> None:
        super().__init__()
        self.program = program


class GridLaunch:
    """One attempt. Programs from the `exact_from`th on are one by one."""

    def __init__(
        self,
        form: RunForm,
        order: RunOrder,
        memory: LaunchMemory,
        how: RunOptions,
        exact_from: int,
    ) -> None:
        keep_freed_memory()
        self._form, self._order, self._how = form, order, how
        self._exact_from = exact_from
        self._programs = Programs(order.grid)
        self._places = Places(form.places)
        self._allocations = memory.fresh()
        self._space = AddressSpace(self._allocations)
        found = memory.filled()
        self._written_elements = WrittenElements(self._allocations, found)
        has_bytes = "initcheck" in how.checks
        self._written_bytes = WrittenBytes(self._allocations, found) if has_bytes else None
        self._watch = self._new_watch()
        self._memory = self._new_memory()
        self._arguments = arguments_of(
            form.parameters, order.parameters, order.arguments, self._space
        )
        tells = Tells(self._programs, self._places)
        self._kernel = Kernel(form, self._programs, self._memory, tells, self._step)

    def run(self) -> KernelRun:
        """Run all programs, or those up to a finding. Raises `SuspectedAt`."""
        stopped = None
        try:
            for first, numbers in self._batches():
                self._memory.is_exact = first >= self._exact_from
                try:
                    self._kernel.run_batch(numbers, self._arguments)
                except Suspected:
                    raise SuspectedAt(first) from None
        except Stopped as found:
            stopped = found.finding
        return KernelRun(self._allocations, self._written_elements, self._watch, stopped)

    def _batches(self) -> Iterator[tuple[int, Array]]:
        """Yield how many programs ran before, and the numbers of those that run next."""
        total, first = math.prod(self._order.grid), 0
        size = self._kernel.batch_size(self._order.batch_elements)
        while first < total:
            end = min(first + size, self._exact_from) if first < self._exact_from else first + 1
            numbers = np.arange(first, end, dtype=np.int64)
            yield first, total - 1 - numbers if self._how.backwards else numbers
            first = end

    def _new_watch(self) -> Watch:
        watches_races = "racecheck" in self._how.checks
        return Watch(
            self._space,
            self._allocations,
            self._place,
            written_elements=self._written_elements,
            trace=self._how.trace,
            written_bytes=self._written_bytes,
            races=Races(self._allocations, self._order.grid) if watches_races else None,
            max_accesses=self._how.max_accesses,
        )

    def _new_memory(self) -> ProgramMemory:
        suspects_races = "racecheck" in self._how.checks
        suspicion = Suspicion(
            self._watch.inputs,
            self._written_elements,
            self._written_bytes,
            (RaceSuspicion if suspects_races else Disturbance)(self._allocations),
        )
        locator = Locator(self._space, self._allocations)
        return ProgramMemory(self._programs, locator, self._watch, suspicion)

    def _step(self, number: int, value: Any) -> None:
        """Keep a value of a program that is traced with its values."""
        trace = self._how.trace
        program = self._programs.program_at(0)
        if trace is not None and trace.steps is not None and trace.wants(program):
            lanes = value.address if isinstance(value, Pointer) else value
            step, accesses = self._form.steps[number], len(trace.accesses)
            trace.steps.add(step, lanes, program, self._space, accesses)

    def _place(self) -> KernelPlace:
        return self._places.here(self._programs.program_at(self._programs.first_active()))

"""Runs all programs of a grid: many at once, and one by one after a suspicion.

The launch does not report suspicions from programs that run at once. It restarts on the initial
memory: earlier programs run at once again, the rest one by one with exact checks. So findings,
outputs and their order equal those of programs that run one by one.

If a search for races has no time for all programs, it checks only the suspected ones. This is
valid because a GPU runs programs in any order, so that these may come first.

NumPy creates an array for every operation. By default, glibc returns the memory of arrays from
128 KiB on to the system when they are freed, and the system must map and clear the pages of each
new one: three times the work of the operation. So this process keeps the memory of freed arrays,
which is right only because it runs one launch and ends.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from time import monotonic
from typing import Any

import numpy as np

from compiler.diagnostic import Failure
from compiler.lines.access_mask import AccessMask
from compiler.ttir_to_numpy.batched_codegen import RunForm
from launch.buffers.element_types import Array
from launch.checks.addresses import AddressSpace
from launch.checks.checked_memory import AccessChecker, TooManyAccesses
from launch.checks.finding import UNDEFINED_VALUE, KernelLocation, Stopped
from launch.checks.kernel_run import KernelRun, RunOptions
from launch.checks.order_dependence import OrderDependence
from launch.checks.own_order import OwnOrder
from launch.checks.owner_table import PossibleRace
from launch.checks.race_screen import OrderScreen, RaceScreen
from launch.checks.races import Races
from launch.checks.written_memory import WrittenBytes, WrittenElements
from launch.cpu.argument_arena import LaunchMemory
from launch.cpu.arguments import arguments_of
from launch.cpu.device_print_assert import DevicePrints, NoDevicePrints
from launch.cpu.instance_locations import InstanceLocations, operation_here
from launch.cpu.kernel import Kernel
from launch.cpu.locator import Locator
from launch.cpu.memory import ProgramMemory
from launch.cpu.pointer import Pointer
from launch.cpu.programs import MayWait, ProgramInstances, RoundsSpent
from launch.cpu.promises import Promises
from launch.cpu.turns import Turns
from launch.cpu.undefined_lanes import UndefinedLanes
from launch.messages import CHECK_TIMEOUT, Finding, RunOrder

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
"""Parameters of `mallopt`, from glibc's malloc.h."""
_KEPT_BYTES = 1 << 30
_STEP_BYTES = 16 << 20
_MAX_BYTES = 32 << 20
"""Larger arrays are still mapped separately: this is the largest value that glibc accepts."""
MAX_PROGRAMS_TO_SUSPECT = 1 << 31
"""The maximum for the tables of readers and writers."""
_FOR_RACES = 0.7
_NEIGHBOURS = 32
_MAX_REORDERED_ACCESSES = 40_000
_MAX_ALONE = 4
_MAX_ACCESSES_ALONE = 4_000
_NAMED = 8
_MAX_OF_LOOP = 2_000
"""Rounds of one loop without a number, after which its program may wait for another one."""
_MAX_SAMPLED_ACCESSES = 100_000
"""A limit, because a program may wait forever for one that is not in the sample."""


def races_until(limit_s: float | None) -> float | None:
    """Return the time until which a run that begins now may run programs one by one."""
    return None if limit_s is None else monotonic() + _FOR_RACES * limit_s


def run_grid(form: RunForm, order: RunOrder, memory: LaunchMemory, how: RunOptions) -> KernelRun:
    """Run the kernel once, and look for races in other orders if atomics may hide them.

    Raises `Failure`, and `TooManyAccesses`.
    """
    ran = _run_once(form, order, memory, how)
    if "racecheck" not in how.checks or how.trace is not None or form.prints or how.backwards:
        return ran
    checks_own, reorders = form.repeats and not ran.is_exact, may_differ(form, ran)
    reader = ran.unwritten_reader
    if ran.stopped is not None or not (checks_own or reorders or reader is not None):
        return ran
    left = [allocation.memory.copy() for allocation in ran.allocations]
    findings = ran.access_checker.findings
    if checks_own:
        findings += races_within_programs(form, order, memory, how)
    if reader is not None:
        findings += reads_of_unwritten(form, order, memory, how, reader)
    if reorders and not any(finding.scope == "between_programs" for finding in findings):
        known = {
            (finding.kind, finding.scope, finding.line, finding.argument) for finding in findings
        }
        findings += [
            finding
            for finding in races_in_other_orders(form, order, memory, how, ran, known)
            if (finding.kind, finding.scope, finding.line, finding.argument) not in known
        ]
    for allocation, contents in zip(ran.allocations, left, strict=True):
        allocation.memory[:] = contents
    return ran


def may_differ(form: RunForm, ran: KernelRun) -> bool:
    """Return True if another order of programs may show a race that a run did not.

    Without atomics one order shows all. So it does where only atomics access what programs share,
    unless what they read decides what the programs do.
    """
    return form.has_atomics and (ran.is_exact or form.waits)


def races_within_programs(
    form: RunForm, order: RunOrder, memory: LaunchMemory, how: RunOptions
) -> list[Finding]:
    """Return the races within some programs, each of which runs alone."""
    total = math.prod(order.grid)
    some = range(total) if total <= _MAX_ALONE else (0, total // 2, total - 1)
    alone = _findings_alone(form, order, memory, how, some)
    return [finding for finding in alone if finding.scope == "within_program"]


def reads_of_unwritten(
    form: RunForm, order: RunOrder, memory: LaunchMemory, how: RunOptions, program: int
) -> list[Finding]:
    """Return the reads of unwritten outputs by a program that no other program wrote for."""
    alone = _findings_alone(form, order, memory, how, [program])
    return [finding for finding in alone if finding.kind == UNDEFINED_VALUE]


def _findings_alone(
    form: RunForm,
    order: RunOrder,
    memory: LaunchMemory,
    how: RunOptions,
    programs: Sequence[int],
) -> list[Finding]:
    """Return what is found in the first accesses of a few `programs`, run one by one."""
    how = replace(how, until=None, max_accesses=_MAX_ACCESSES_ALONE)
    launch = GridLaunch(form, order, memory, how, 0, np.array(programs, np.int64))
    with suppress(TooManyAccesses):
        launch.run()
    return launch.findings


def races_in_other_orders(
    form: RunForm,
    order: RunOrder,
    memory: LaunchMemory,
    how: RunOptions,
    first: KernelRun,
    known: Collection[tuple[object, ...]],
) -> list[Finding]:
    """Return what the first order of programs that shows something new shows.

    Long launches run only their first programs: on a GPU, the others may be late.
    """
    how = replace(how, until=None, max_accesses=_MAX_REORDERED_ACCESSES)
    programs = np.arange(math.prod(order.grid), dtype=np.int64)
    if first.access_checker.accesses > _MAX_REORDERED_ACCESSES // 2:
        share = _MAX_REORDERED_ACCESSES // 2 / first.access_checker.accesses
        programs = programs[: max(2, int(share * programs.size))]
    shuffled = np.random.default_rng(0).permutation(programs)
    for numbers, words in ((programs[::-1], "in the opposite order"), (shuffled, "in this order")):
        with suppress(TooManyAccesses):
            ran = GridLaunch(form, order, memory, how, 0, numbers, in_turns=form.waits).run()
            findings = [*([ran.stopped] if ran.stopped else []), *ran.access_checker.findings]
            # another order need not write first what the first order reads
            findings = [each for each in findings if each.kind != UNDEFINED_VALUE]
            if words == "in this order":
                words = f"in the order {', '.join(map(str, numbers[:_NAMED].tolist()))}, ..."
            if any(
                (each.kind, each.scope, each.line, each.argument) not in known for each in findings
            ):
                return [
                    replace(each, message=f"{each.message} (Seen with the programs {words}.)")
                    for each in findings
                ]
    return []


def _run_once(form: RunForm, order: RunOrder, memory: LaunchMemory, how: RunOptions) -> KernelRun:
    try:
        return _run_in_order(form, order, memory, how)
    except MayWait:
        return GridLaunch(form, order, memory, how, exact_from=0, in_turns=True).run()


def _run_in_order(
    form: RunForm, order: RunOrder, memory: LaunchMemory, how: RunOptions
) -> KernelRun:
    """Run each program to its end before the next. Raises `MayWait`."""
    total = math.prod(order.grid)
    watches_races = "racecheck" in how.checks
    is_exact = how.trace is not None or form.prints  # printed text cannot be withdrawn
    if is_exact or not watches_races:
        how = replace(how, until=None)
    if is_exact or (watches_races and total > MAX_PROGRAMS_TO_SUSPECT):
        in_turns = not form.is_batchable
        return GridLaunch(form, order, memory, how, exact_from=0, in_turns=in_turns).run()
    try:
        return GridLaunch(form, order, memory, how, exact_from=total).run()
    except SuspectedAt as suspicion:
        suspected = suspicion
    if not watches_races:
        return GridLaunch(form, order, memory, how, suspected.program).run()
    try:
        return GridLaunch(form, order, memory, how, exact_from=0).run()
    except OutOfTime as late:
        sample = _sample_of(suspected, total)
        limited = replace(how, max_accesses=_MAX_SAMPLED_ACCESSES, until=None)
        with suppress(TooManyAccesses):
            ran = GridLaunch(form, order, memory, limited, 0, sample).run()
            if ran.stopped is not None or _faults(ran):
                return _ended(ran, f"{sample.size} programs that were suspected, of {total:,}")
        raise _not_examined(late.examined, sample.size, total) from None


def _sample_of(suspected: SuspectedAt, total: int) -> Array:
    """Return the suspected programs, as far as they are known, and the first ones near them."""
    first = np.arange(_NEIGHBOURS)
    numbers = np.concatenate([first, suspected.program + first, np.array(suspected.programs, int)])
    return np.unique(numbers[numbers < total]).astype(np.int64)


def _ended(ran: KernelRun, examined: str) -> KernelRun:
    """Return a run that ends with its last finding, whose message reports what was examined."""
    stopped = ran.stopped
    if stopped is None:
        stopped = _faults(ran)[-1]
        ran.access_checker.findings.remove(stopped)
    message = f"{stopped.message} (There was time to look for races among {examined}.)"
    return replace(ran, stopped=replace(stopped, message=message))


def _faults(ran: KernelRun) -> list[Finding]:
    """Return the findings that decide a verdict."""
    return [
        finding
        for finding in ran.access_checker.findings
        if finding.kind not in {"warning", UNDEFINED_VALUE}
    ]


def _that_counts(finding: Finding, failed_loads: Sequence[Finding]) -> list[Finding]:
    """Return a finding, unless it may only be about the values that failed loads gave."""
    is_access = finding.kind in {"out_of_bounds", "misaligned_access"}
    return [finding] if is_access or not failed_loads else []


def _after_a_read(finding: Finding, first: Finding) -> Finding:
    message = (
        f"{finding.message} (The read at line {first.line} failed before; its lanes are 0 here.)"
    )
    return replace(finding, message=message)


def _not_examined(examined: int, sampled: int, total: int) -> Failure:
    message = (
        f"The check for races took too long, not the kernel: {total:,} programs that ran at once "
        "looked like they race, so each had to run alone. There was time for the first "
        f"{examined:,} and for {sampled} suspected ones, and these do not race. Launch a smaller "
        "grid, give it a longer timeout_s, or leave out racecheck."
    )
    return Failure(CHECK_TIMEOUT, "run", message)


class SuspectedAt(PossibleRace):
    """A suspicion about the programs from the `program`th on, in the order of the run."""

    def __init__(self, program: int, programs: Sequence[int]) -> None:
        super().__init__(programs)
        self.program = program


class OutOfTime(BaseException):
    """Ends a search for races that found none among the first `examined` programs."""

    def __init__(self, examined: int) -> None:
        super().__init__()
        self.examined = examined


class GridLaunch:
    """One attempt. Programs from the `exact_from`th on run one by one.

    With a `sample`, only its programs run, one by one. If they run `in_turns`, one goes on while
    others wait; else `MayWait` ends a run in which one may wait.
    """

    def __init__(
        self,
        form: RunForm,
        order: RunOrder,
        memory: LaunchMemory,
        how: RunOptions,
        exact_from: int,
        sample: Array | None = None,
        *,
        in_turns: bool = False,
    ) -> None:
        keep_freed_memory()
        self._in_turns = in_turns
        self._form, self._order, self._how = form, order, how
        self._exact_from, self._sample = exact_from, sample
        may_wait = sample is None and not in_turns and not form.is_batchable
        most_of_loop = _MAX_OF_LOOP if may_wait else None
        self._programs = ProgramInstances(order.grid, how.max_rounds, most_of_loop)
        self._locations = InstanceLocations(form.locations)
        self._allocations = memory.fresh()
        self._space = AddressSpace(self._allocations)
        is_filled = memory.filled()
        self._written_elements = WrittenElements(self._allocations, is_filled)
        watches_races, self._is_filled = "racecheck" in how.checks, is_filled
        self._notes_unwritten = watches_races and "initcheck" not in how.checks
        if self._notes_unwritten:  # of outputs only: what is between rows of an input is padding
            is_filled = [
                mask if allocation.output and not mask.any() else np.ones_like(mask)
                for allocation, mask in zip(self._allocations, is_filled, strict=True)
            ]
        has_bytes = watches_races or "initcheck" in how.checks
        self._written_bytes = WrittenBytes(self._allocations, is_filled) if has_bytes else None
        self._own_order = OwnOrder(form.pipelined) if watches_races and form.repeats else None
        meetings = RaceScreen if watches_races else OrderDependence
        self._screen: RaceScreen | OrderDependence = meetings(self._allocations)
        self._access_checker = self._new_access_checker()
        self._memory = self._new_memory()
        self._arguments = arguments_of(
            form.parameters, order.parameters, order.arguments, self._space
        )
        self._undefined = UndefinedLanes(self._programs, how.filling)
        is_own = how.filling is None  # else assertions and hints are about other values
        prints = (DevicePrints if is_own else NoDevicePrints)(self._programs, self._locations)
        promises = Promises(
            self._programs, self._location, self._access_checker.add_finding, order.target
        )
        self._kernel = Kernel(
            form,
            self._programs,
            self._memory,
            prints,
            self._step,
            promises=promises if is_own else None,
            undefined=self._undefined,
            own_order=self._own_order,
            in_turns=in_turns,
        )

    @property
    def findings(self) -> list[Finding]:
        """The findings so far that did not stop the run."""
        return self._access_checker.findings

    def run(self) -> KernelRun:
        """Run all programs, or those up to a finding. Raises `SuspectedAt`, `OutOfTime`."""
        faults = self._access_checker.failed_loads
        try:
            late = None
            if self._in_turns:
                self._run_in_turns()
            else:
                late = self._run_batches()
        except RoundsSpent:
            late = None
        except Stopped as stopped:
            late, faults = None, [*faults, *_that_counts(stopped.finding, faults)]
        if late is not None:
            return self._out_of_time(late)
        further = [_after_a_read(fault, faults[0]) for fault in faults[1:]]
        return KernelRun(
            self._allocations,
            self._written_elements,
            self._access_checker,
            faults[0] if faults else None,
            further,
            self._exact_from == 0,
            self._undefined.first,
            self._programs.rounds,
            self._screen.unwritten_reader if isinstance(self._screen, RaceScreen) else None,
        )

    def _run_batches(self) -> int | None:
        """Run the programs; a failed load ends the run when its program has ended.

        Return the number of programs that ran until there was no more time for the rest.
        """
        until = self._how.until
        for first, numbers in self._batches():
            self._memory.is_exact = first >= self._exact_from
            if first and self._memory.is_exact and until is not None and monotonic() > until:
                return first
            try:
                self._kernel.run_batch(numbers, self._arguments)
            except PossibleRace as suspected:
                raise SuspectedAt(first, suspected.programs) from None
            if self._access_checker.failed_loads:
                break
        return None

    def _run_in_turns(self) -> None:
        """Run the programs, which may wait for each other."""
        self._memory.is_exact = True
        total = math.prod(self._order.grid)
        turns = Turns(
            self._programs,
            self._access_checker,
            self._allocations,
            self._locations,
            all_run=self._sample is None or self._sample.size == total,
        )
        with np.errstate(all="ignore"):
            turns.run(
                (numbers for _, numbers in self._batches()),
                lambda numbers: self._kernel.begin_turns(numbers, self._arguments),
            )

    def _out_of_time(self, examined: int) -> KernelRun:
        """Return the run so far if it has faults. Raises `OutOfTime` otherwise."""
        ran = KernelRun(self._allocations, self._written_elements, self._access_checker, None)
        if not _faults(ran):
            raise OutOfTime(examined)
        return _ended(ran, f"the first {examined:,} of {math.prod(self._order.grid):,} programs")

    def _batches(self) -> Iterator[tuple[int, Array]]:
        """Yield the number of programs that ran before, and the next programs to run."""
        if self._sample is not None:
            yield from enumerate(self._sample[:, None])
            return
        total, first = math.prod(self._order.grid), 0
        size = self._kernel.batch_size(self._order.batch_elements)
        while first < total:
            end = min(first + size, self._exact_from) if first < self._exact_from else first + 1
            numbers = np.arange(first, end, dtype=np.int64)
            yield first, total - 1 - numbers if self._how.backwards else numbers
            first = end

    def _new_access_checker(self) -> AccessChecker:
        watches_races = "racecheck" in self._how.checks
        races = (
            Races(self._allocations, self._is_filled, self._order.grid) if watches_races else None
        )
        return AccessChecker(
            self._space,
            self._allocations,
            self._location,
            written_elements=self._written_elements,
            trace=self._how.trace,
            written_bytes=self._written_bytes,
            unwritten_kind=UNDEFINED_VALUE if self._notes_unwritten else "uninitialized",
            races=races,
            max_accesses=self._how.max_accesses,
            is_cuda=self._order.target.backend == "cuda",
            own_order=self._own_order,
            operation=self._operation if self._form.pipelined else None,
            mask=self._mask,
            ignored_axes=self._ignored_axes,
        )

    def _new_memory(self) -> ProgramMemory:
        suspicion = OrderScreen(
            self._access_checker.inputs,
            self._written_elements,
            self._written_bytes,
            self._screen,
            self._notes_unwritten,
        )
        locator = Locator(self._space, self._allocations)
        return ProgramMemory(self._programs, locator, self._access_checker, suspicion)

    def _step(self, number: int, value: Any) -> None:
        """Record a value of a program if the trace wants its values."""
        trace = self._how.trace
        program = self._programs.program_at(0)
        if trace is not None and trace.steps is not None and trace.wants(program):
            lanes = value.address if isinstance(value, Pointer) else value
            step, accesses = self._form.steps[number], len(trace.accesses)
            trace.steps.add(step, lanes, program, self._space, accesses)

    def _operation(self) -> int:
        return operation_here(self._form.operations)

    def _mask(self) -> AccessMask | None:
        masks = self._form.masks
        return None if masks is None else masks.of(self._operation())

    def _ignored_axes(self) -> frozenset[int]:
        axes = self._form.axes
        return frozenset() if axes is None else axes.ignored(self._operation())

    def _location(self) -> KernelLocation:
        return self._locations.here(self._programs.program_at(self._programs.first_active()))


@cache
def keep_freed_memory() -> None:
    """Make this process keep freed memory. Does nothing with a C library other than glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _MAX_BYTES)
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_TOP_PAD, _STEP_BYTES)

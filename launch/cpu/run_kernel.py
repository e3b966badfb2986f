"""The task that runs a kernel's IR on the CPU, translated to NumPy, with every access checked.

It executes no user Python; the IR is data. Its times mean nothing for a GPU.

Some lanes have no defined value, such as those that a load without an `other` masks out. The first
run has zeros in them. A kernel runs again with other values there, if it had such lanes and they
may reach more than accesses under the same mask: whatever differs depends on them.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace

import numpy as np

from compiler.diagnostic import file_in_kernel
from compiler.messages.wire import Send
from compiler.ttir_to_numpy.batched.undefined_values import UndefinedSource
from compiler.ttir_to_numpy.batched_codegen import RunForm
from compiler.ttir_to_numpy.refusal import Untranslatable
from launch.buffers.allocation import Allocation, Leaf, leaves, part, view
from launch.buffers.element_types import Array
from launch.checks import finding
from launch.checks.bounded_output import BoundedOutput
from launch.checks.checked_memory import TooManyAccesses
from launch.checks.finding import KernelLocation
from launch.checks.kernel_run import KernelRun, RunOptions, differences, run_and_report
from launch.checks.tuning import (
    TunedKernel,
    finding_of,
    joined,
    tuning_side_effect,
    what_to_write,
)
from launch.checks.undefined_filling import Filling, UndefinedLane
from launch.cpu.argument_arena import LaunchMemory, OrderedMemory
from launch.cpu.grid_run import races_until, run_grid
from launch.cpu.translation import causes_of, needs_gpu, translated
from launch.messages import Finding, RunOrder, RunReport, TuningOrder

_MAX_NAMED = 5
"""Operations that are tried alone, after all together made a difference."""
_VALUES = 3
"""The values to try."""
_FEW_LANES = 8
"""With fewer undefined lanes, each of them gets each value, in separate runs."""
_SHARE = 0.25
"""The share of the time limit that the first run may have taken."""
_MORE = 4
"""The accesses and rounds that a second run may have, relative to the first run's."""
_FILLED = {"-inf": "float('-inf')", "inf": "float('inf')"}
_NEUTRAL = {
    "tl.max": "-inf", "tl.argmax": "-inf", "tl.min": "inf", "tl.argmin": "inf", "tl.prod": "1.0",
    "tl.cumprod": "1.0",
}  # fmt: skip
"""The `other` that leaves a reduction as it is, where it is not 0."""


def run(order: RunOrder, body: bytes, send: Send) -> RunReport:
    """Run the kernel and report it with `run_and_report`.

    Raises `Failure`: `needs_gpu` with the line that a CPU cannot run, `invalid_argument`,
    `out_of_resources`, `check_timeout`.
    """
    until = races_until(order.limit_s)
    text = part(body, order.ir).decode()
    form = translated(order, text)
    memory = OrderedMemory(order, body)

    def grid_ran(how: RunOptions) -> KernelRun:
        return run_grid(form, order, memory, replace(how, until=until))

    def look_again(ran: KernelRun, took_s: float) -> list[Finding]:
        if order.tuning is not None:
            return tuning_findings(form, order, memory, ran)
        return undefined_values(form, order, memory, ran, took_s)

    try:
        with redirect_stdout(BoundedOutput(sys.stdout)):
            report = run_and_report(order, grid_ran, send, look_again)
    except RecursionError:
        what = "its functions call each other more deeply than Python allows"
        raise needs_gpu(Untranslatable(what)) from None
    return replace(report, causes=causes_of(order, text))


def undefined_values(
    form: RunForm, order: RunOrder, memory: LaunchMemory, first: KernelRun, took_s: float
) -> list[Finding]:
    """Return a finding for each operation whose undefined lanes change what the kernel does."""
    numbers = sorted(first.undefined)
    if not numbers or (order.limit_s is not None and took_s > _SHARE * order.limit_s):
        return []
    fewest = min(first.undefined[number].count for number in numbers)
    for rotation in range(_VALUES if fewest < _FEW_LANES else 1):
        told = _difference(form, order, memory, first, Filling(numbers, rotation))
        if told is not None:
            return _findings(form, order, memory, first, Filling(numbers, rotation), told)
    return []


def _findings(
    form: RunForm,
    order: RunOrder,
    memory: LaunchMemory,
    first: KernelRun,
    filling: Filling,
    told: str,
) -> list[Finding]:
    """Return the findings of those operations that make a difference alone."""
    numbers = list(filling.numbers)
    if len(numbers) == 1:
        return [_finding(form, order, numbers[0], first.undefined[numbers[0]], told)]
    findings = []
    for number in numbers[:_MAX_NAMED]:
        alone = Filling([number], filling.rotation)
        words = _difference(form, order, memory, first, alone)
        if words is not None:
            findings.append(_finding(form, order, number, first.undefined[number], words))
    return findings or [_finding(form, order, numbers[0], first.undefined[numbers[0]], told)]


def _difference(
    form: RunForm, order: RunOrder, memory: LaunchMemory, first: KernelRun, filling: Filling
) -> str | None:
    """Return what a run with other values does otherwise, None: nothing."""
    accesses, rounds = (
        _MORE * (count + 1) for count in (first.access_checker.accesses, first.rounds)
    )
    how = RunOptions(max_accesses=accesses, max_rounds=rounds, filling=filling)
    try:
        ran = run_grid(form, order, memory, how)
    except TooManyAccesses:
        return "with other values there the kernel does not end"
    if ran.stopped is not None:
        return f"with other values there, {ran.stopped.message}"
    for difference in differences(order, first, ran):
        index = [int(at) for at in np.unravel_index(difference.element, difference.leaf.shape)]
        place = f"{difference.leaf.name}[{', '.join(map(str, index))}]"
        zero, other = difference.values
        return f"{place} is {zero} in one run, and {other} with other values there"
    if ran.access_checker.accesses != first.access_checker.accesses:
        return "with other values there the kernel makes other accesses"
    return None


def _finding(
    form: RunForm, order: RunOrder, number: int, lane: UndefinedLane, told: str
) -> Finding:
    source = form.undefined[number]
    where = source.location
    file = None if where is None else file_in_kernel(where.file)
    location = KernelLocation(None, None, lane.program)
    if where is not None and file is not None:
        location = KernelLocation(file, where.line, lane.program, where.column)
    if source.kind == "load":
        kind = "uninitialized" if "initcheck" in order.checks else finding.UNDEFINED_VALUE
        return finding.undefined_value(kind, f"{_load_words(source, lane)} {told}.", location, True)
    words = {
        "gather": "an index of tl.gather is outside of the tensor, so that a GPU gives any element",
        "histogram": "tl.histogram gets a number outside of its bins, and GPUs differ in "
        "whether it counts",
    }[source.kind]
    advice = "Clamp it, or select another value there."
    if source.kind == "histogram":
        advice = "Leave it out by the histogram's mask."
    text = f"{words} (lane {_shown(lane.lane)}): {told}. {advice}"
    return finding.undefined_value("out_of_bounds", text, location, False)


def _load_words(source: UndefinedSource, lane: UndefinedLane) -> str:
    name = f" of {source.name}" if source.name else ""
    mask = f"its mask `{source.mask}`" if source.mask else "its mask"
    through = f" {source.mixed_by}" if source.mixed_by else " another operation"
    line = f" at line {source.mixed_at}" if source.mixed_at is not None else ""
    other = _NEUTRAL.get(source.mixed_by, "0.0")
    other = _FILLED.get(other, other)
    return (
        f"lane {_shown(lane.lane)}{name} has no value, as {mask} is false there and the tl.load "
        f"has no `other`, yet{through}{line} uses it. NVIDIA GPUs give 0 today, others need not. "
        f"Write other={other}, or select what is valid. Here,"
    )


def _shown(lane: Sequence[int]) -> str:
    return str(lane[0]) if len(lane) == 1 else str(list(lane))


def tuning_findings(
    form: RunForm, order: RunOrder, memory: LaunchMemory, first: KernelRun
) -> list[Finding]:
    """Return a finding if a run after `first` leaves something else."""
    assert order.tuning is not None
    outputs = frozenset(leaf.allocation for leaf in leaves(order.arguments) if leaf.output)
    left = _LeftMemory(memory, first, outputs)
    before, once, filled = left.before(), left.contents(), left.filled()
    rewritten = frozenset(
        number
        for number in outputs
        if filled[number].any() and not np.array_equal(before[number], once[number])
    )
    if not rewritten:
        return []
    tuned = _TunedLaunch(order, order.tuning, first, rewritten, has_atomics=form.has_atomics)
    accesses, rounds = (
        _MORE * (count + 1) for count in (first.access_checker.accesses, first.rounds)
    )

    def run_again() -> Finding | None:
        how = RunOptions(max_accesses=accesses, max_rounds=rounds)
        return run_grid(form, order, left, how).stopped

    finding = tuning_side_effect(tuned, left, run_again)
    return [] if finding is None else [finding]


class _LeftMemory:
    """The allocations that a launch may change, by number; each run begins as the last one ended.

    What a run leaves is read from the memory that it got last, as it may start again.
    """

    def __init__(self, memory: LaunchMemory, first: KernelRun, changed: Collection[int]) -> None:
        self._memory, self._changed = memory, changed
        self._begin: Mapping[int, Array] = {}
        self._last = first.allocations

    def fresh(self) -> list[Allocation]:
        """Return memory with the contents that runs begin with."""
        self._last = self._memory.fresh()
        for number, octets in self._begin.items():
            _octets(self._last[number])[:] = octets
        return self._last

    def filled(self) -> list[Array]:
        """Return flags of the elements with contents."""
        return self._memory.filled()

    def before(self) -> Mapping[int, Array]:
        """Return the bytes before the launch."""
        allocations = self._memory.fresh()
        return {number: _octets(allocations[number]) for number in self._changed}

    def contents(self) -> dict[int, Array]:
        """Return copies of the bytes now."""
        return {number: _octets(self._last[number]).copy() for number in self._changed}

    def begin_with(self, contents: Mapping[int, Array]) -> None:
        """Begin further runs with these bytes."""
        self._begin = dict(contents)

    def dtypes(self) -> Mapping[int, str]:
        """Return the dtype of each allocation."""
        return {number: self._last[number].dtype for number in self._changed}


class _TunedLaunch:
    """A launch of an autotuned kernel; parts of memory are allocations."""

    def __init__(
        self,
        order: RunOrder,
        tuning: TuningOrder,
        first: KernelRun,
        rewritten: frozenset[int],
        *,
        has_atomics: bool,
    ) -> None:
        """`rewritten` are allocations with contents that the first run changed."""
        self._order, self._tuning, self._has_atomics = order, tuning, has_atomics
        self.rewritten = rewritten
        self._outputs = [leaf for leaf in leaves(order.arguments) if leaf.output]
        self._dtypes = [allocation.memory.dtype for allocation in first.allocations]

    def unused(self) -> Collection[int]:
        """Return nothing: each output is compared."""
        return ()

    def prepare(self, contents: dict[int, Array], before: Mapping[int, Array]) -> None:
        """Zero and restore what the autotuner does."""
        for leaf in self._prepared(self._tuning.restore_value):
            self._view(contents, leaf)[...] = self._view(before, leaf)
        for leaf in self._prepared(self._tuning.reset_to_zero):
            self._view(contents, leaf)[...] = 0

    def finding(
        self, causes: frozenset[int], before: Mapping[int, Array], difference: str
    ) -> Finding:
        """Return the finding that runs change each other through these allocations."""
        leaves = [leaf for leaf in self._outputs if leaf.allocation in causes]
        described = self._tuning
        kernel = TunedKernel(
            described.kernel, described.file, described.line, described.configurations
        )
        names = [leaf.name for leaf in leaves]
        return finding_of(kernel, names, difference, self._advice(leaves, before))

    def _advice(self, leaves: list[Leaf], before: Mapping[int, Array]) -> str:
        zeroed: list[str] = []
        restored: list[str] = []
        for leaf in leaves:
            if self._order.arguments.get(leaf.name, {}).get("kind") != "buffer":
                return (
                    f"Set {joined([each.name for each in leaves])} in a pre_hook of each "
                    "triton.Config."
                )
            is_zero = not self._view(before, leaf).astype(np.bool_).any()
            (zeroed if self._has_atomics and is_zero else restored).append(leaf.name)
        return what_to_write(zeroed, restored)

    def _prepared(self, names: Collection[str]) -> Iterator[Leaf]:
        return (leaf for leaf in self._outputs if leaf.name in names)

    def _view(self, contents: Mapping[int, Array], leaf: Leaf) -> Array:
        return view(contents[leaf.allocation].view(self._dtypes[leaf.allocation]), leaf)


def _octets(allocation: Allocation) -> Array:
    return allocation.memory.view(np.uint8)

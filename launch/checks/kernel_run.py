"""Runs a kernel on the CPU device through a callback and reports the result.

The determinism check runs it a second time.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from compiler.diagnostic import Failure
from compiler.messages.wire import Send
from launch.buffers.allocation import (
    Allocation,
    BadBuffer,
    Leaf,
    leaves,
    logical_bytes,
    materialise,
    view,
)
from launch.buffers.element_types import readable
from launch.checks import finding
from launch.checks.checked_memory import AccessChecker, TooManyAccesses, Trace
from launch.checks.steps import Steps
from launch.checks.undefined_filling import Filling, UndefinedLane
from launch.checks.written_memory import WrittenElements
from launch.messages import (
    Finding,
    ModifiedInput,
    RunOrder,
    RunReport,
    TraceOrder,
)

_ACCESSES_RATIO = 4
"""The accesses that a second run may make, as a multiple of the first run's."""


@dataclass(frozen=True)
class RunOptions:
    """Options of a run: what to record and check, and the order of programs."""

    checks: Sequence[str] = ()
    trace: Trace | None = None
    backwards: bool = False
    max_accesses: int | None = None
    max_rounds: int | None = None
    """The most rounds of all loops, which also end at `TooManyAccesses`."""
    until: float | None = None
    """The `time.monotonic` deadline for running programs one by one in a search for races."""
    filling: Filling | None = None
    """The values of lanes that have none, None: zeros."""


@dataclass(frozen=True)
class KernelRun:
    """One run of the grid, complete or up to the finding that stopped it."""

    allocations: list[Allocation]
    written_elements: WrittenElements
    access_checker: AccessChecker
    stopped: Finding | None
    further: Sequence[Finding] = ()
    """Faults of the same program after a load that failed, which is `stopped`."""
    is_exact: bool = False
    """True if all programs ran one by one."""
    undefined: Mapping[int, UndefinedLane] = field(default_factory=dict)
    """The first lane without a value of each operation that had one, by `RunForm.undefined`."""
    rounds: int = 0
    """The rounds of all its loops."""
    unwritten_reader: int | None = None
    """The first program, among many at once, that read an output before it was written."""


Run = Callable[[RunOptions], KernelRun]
"""A callback that runs the kernel on fresh memory."""
LookAgain = Callable[[KernelRun, float], list[Finding]]
"""A callback that gets a run and its seconds."""


def run_and_report(order: RunOrder, run: Run, send: Send, look_again: LookAgain) -> RunReport:
    """Run the kernel; send `output:<name>` for each output, and `trace` if requested.

    `look_again` may run the kernel again, and returns what it finds.
    `unwritten:<name>` follows an output with unwritten elements: one bit per element in C order.
    """
    checks, trace = order.checks, _trace(order.trace)
    started = perf_counter()
    ran = run(RunOptions(checks, trace))
    run_ms = round((perf_counter() - started) * 1000, 3)
    deterministic, differing = None, []
    if "determinism" in checks and ran.stopped is None:
        differing = _compare_runs(order, ran, _run_again(run, ran))
        deterministic = not differing
    seen_again = look_again(ran, run_ms / 1000) if ran.stopped is None else []
    sys.stdout.flush()
    _send_outputs(order, ran, run_ms, send)
    if trace is not None:
        send({"kind": "stage", "stage": "trace", "ms": run_ms}, trace.to_json())
    faults = [ran.stopped, *ran.further] if ran.stopped else []
    findings = [*ran.access_checker.findings, *faults, *differing, *seen_again]
    return RunReport(
        findings=findings,
        modified=_modified(ran, order),
        deterministic=deterministic,
        finished=ran.stopped is None,
    )


def fresh_memory(order: RunOrder, body: bytes) -> list[Allocation]:
    """Return new memory for an order's arguments. Raises `Failure`."""
    try:
        return materialise(order.allocations, order.arguments, body)
    except BadBuffer as error:
        raise Failure("invalid_argument", "request", str(error)) from error


def _send_outputs(order: RunOrder, ran: KernelRun, run_ms: float, send: Send) -> None:
    for leaf in _outputs(order):
        data = logical_bytes(ran.allocations[leaf.allocation].memory, leaf)
        send({"kind": "stage", "stage": f"output:{leaf.name}", "ms": run_ms}, data)
        if (missing := ran.written_elements.unwritten(leaf)) is not None:
            bits = np.packbits(missing).tobytes()
            send({"kind": "stage", "stage": f"unwritten:{leaf.name}", "ms": 0.0}, bits)


def _run_again(run: Run, first: KernelRun) -> KernelRun:
    """Return a second run with the programs in the opposite order.

    If that run does not end, the programs run in the first order again: a program may wait for
    earlier ones, which is valid on devices that start programs in order.
    """
    max_accesses = _ACCESSES_RATIO * first.access_checker.accesses + _ACCESSES_RATIO
    try:
        return run(RunOptions(backwards=True, max_accesses=max_accesses))
    except TooManyAccesses:
        return run(RunOptions())


def _compare_runs(order: RunOrder, first: KernelRun, second: KernelRun) -> list[Finding]:
    """Return findings for outputs that differ between two runs, or what stopped the second."""
    if second.stopped is not None:
        return [second.stopped]
    return [
        finding.nondeterministic(difference.leaf, difference.element, difference.values)
        for difference in differences(order, first, second)
    ]


@dataclass(frozen=True)
class DifferentOutput:
    """The first `element` of an output, in C order, that two runs left differently."""

    leaf: Leaf
    element: int
    values: tuple[str, str]


def differences(order: RunOrder, first: KernelRun, second: KernelRun) -> Iterator[DifferentOutput]:
    """Yield the first difference of each output whose bits differ."""
    for leaf in _outputs(order):
        runs = [view(ran.allocations[leaf.allocation].memory, leaf) for ran in (first, second)]
        bits = [np.ascontiguousarray(run).view(f"u{run.itemsize}").reshape(-1) for run in runs]
        places = np.flatnonzero(bits[0] != bits[1])
        if places.size:
            at = int(places[0])
            shown = tuple(str(readable(run, leaf.dtype).reshape(-1)[at]) for run in runs)
            yield DifferentOutput(leaf, at, (shown[0], shown[1]))


def _trace(wanted: TraceOrder | None) -> Trace | None:
    if wanted is None:
        return None
    steps = Steps(wanted.max_accesses) if wanted.values else None
    return Trace(wanted.programs, wanted.max_accesses, steps)


def _outputs(order: RunOrder) -> list[Leaf]:
    return [leaf for leaf in leaves(order.arguments) if leaf.output]


def _modified(ran: KernelRun, order: RunOrder) -> list[ModifiedInput]:
    """Return the changed arguments that are not outputs, with the first changed element."""
    reported = []
    for allocation, elements in ran.access_checker.inputs.changed():
        leaf: Any = next(
            leaf
            for leaf in leaves(order.arguments)
            if ran.allocations[leaf.allocation] is allocation
        )
        first = finding.index_of(int(elements[0]), leaf)
        reported.append(
            ModifiedInput(argument=leaf.name, elements=len(elements), first_index=first)
        )
    return reported

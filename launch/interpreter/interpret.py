"""The task that runs a kernel on Triton's CPU interpreter, every access checked.

Executes user Python, so only a sandboxed child may run it. Its times say nothing of a GPU.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from compiler.back.back import spent_ms
from compiler.diagnostic import Failure
from compiler.front.module import Loaded, load
from compiler.messages.wire import Send
from launch.buffers.allocation import (
    Allocation,
    BadBuffer,
    Leaf,
    filled,
    leaves,
    logical_bytes,
    materialise,
    part,
    view,
)
from launch.buffers.element_types import readable
from launch.checks import finding
from launch.checks.addresses import AddressSpace
from launch.checks.checked_memory import TooManyAccesses, Trace, Watch
from launch.checks.finding import Stopped
from launch.checks.races import Races
from launch.checks.written_memory import WrittenBytes, WrittenElements
from launch.interpreter import triton_interpreter, user_errors
from launch.interpreter.bounded_output import BoundedOutput
from launch.interpreter.kernel_call import find, kernel_values, ordered
from launch.messages import Finding, InterpretOrder, InterpretReport, ModifiedInput, TraceOrder

_ACCESSES_RATIO = 4
"""How many times the accesses of a first run a second one may make."""


@dataclass(frozen=True)
class _RunOptions:
    """How to run: what to keep and to look for, and in which order."""

    checks: Sequence[str] = ()
    trace: Trace | None = None
    backwards: bool = False
    max_accesses: int | None = None


@dataclass(frozen=True)
class InterpretedRun:
    """One run of the whole grid, or of its programs up to a finding that stopped it."""

    allocations: list[Allocation]
    written_elements: WrittenElements
    watch: Watch
    stopped: Finding | None


def interpret(order: InterpretOrder, body: bytes, send: Send) -> InterpretReport:
    """Run the kernel; send `output:<name>` for every output, and `trace` when one was asked for.

    `unwritten:<name>` follows an output with elements that nobody wrote: a bit for each in C order.
    Raises `Failure`.
    """
    with warnings.catch_warnings(), redirect_stdout(BoundedOutput(sys.stdout)):
        warnings.simplefilter("ignore")
        return _interpret(order, body, send)


def _interpret(order: InterpretOrder, body: bytes, send: Send) -> InterpretReport:
    loaded = load(
        part(body, order.source).decode(),
        order.files,
        name=order.module,
        interpreted=[triton_interpreter.InterpretedFunction],
    )
    kernel = find(loaded, order.kernel, order.touched)
    checks, trace = order.checks, _trace(order.trace)
    started = perf_counter()
    ran = _run(kernel, order, body, loaded, _RunOptions(checks, trace))
    run_ms = spent_ms(started)
    deterministic, differing = None, []
    if "determinism" in checks and ran.stopped is None:
        again = _run_again(kernel, order, body, loaded, ran)
        differing = _compare_runs(order, ran, again)
        deterministic = not differing
    sys.stdout.flush()
    _send_outputs(order, ran, run_ms, send)
    if trace is not None:
        send({"kind": "stage", "stage": "trace", "ms": run_ms}, trace.to_json())
    findings = [*ran.watch.findings, *([ran.stopped] if ran.stopped else []), *differing]
    return InterpretReport(
        findings=findings,
        modified=_modified(ran, order),
        deterministic=deterministic,
        finished=ran.stopped is None,
    )


def _send_outputs(order: InterpretOrder, ran: InterpretedRun, run_ms: float, send: Send) -> None:
    for leaf in _outputs(order):
        send({"kind": "stage", "stage": f"output:{leaf.name}", "ms": run_ms}, _bytes(ran, leaf))
        if (missing := ran.written_elements.unwritten(leaf)) is not None:
            bits = np.packbits(missing).tobytes()
            send({"kind": "stage", "stage": f"unwritten:{leaf.name}", "ms": 0.0}, bits)


def _run(
    kernel: Any, order: InterpretOrder, body: bytes, loaded: Loaded, how: _RunOptions
) -> InterpretedRun:
    allocations = _materialise(order, body)
    space = AddressSpace(allocations)
    found = filled(order.allocations, order.arguments)
    written_elements = WrittenElements(allocations, found)
    watch = Watch(
        space,
        allocations,
        triton_interpreter.program,
        written_elements=written_elements,
        trace=how.trace,
        written_bytes=WrittenBytes(allocations, found) if "initcheck" in how.checks else None,
        races=Races(allocations, order.grid) if "racecheck" in how.checks else None,
        max_accesses=how.max_accesses,
    )

    def refuse(words: str) -> None:
        raise Stopped(finding.assertion_failed(words, watch.place()))

    options = order.options
    check_overflow = bool(options.get("debug")) and options.get("sanitize_overflow") is not False
    triton_interpreter.prepare(check_overflow=check_overflow, target=order.target)
    arguments = ordered(kernel, kernel_values(kernel, order, space, loaded))
    triton_interpreter.watch_accesses(watch.admit)
    triton_interpreter.watch_assertions(refuse)
    try:
        triton_interpreter.run(kernel, order.grid, arguments, backwards=how.backwards)
    except Stopped as stopped:
        return InterpretedRun(allocations, written_elements, watch, stopped.finding)
    except Exception as error:
        asserted = user_errors.assertion_of(error)
        if asserted is None:
            raise user_errors.of_kernel(error, loaded) from error
        file, line, words = asserted
        place = finding.KernelPlace(file, line, triton_interpreter.program())
        return InterpretedRun(
            allocations, written_elements, watch, finding.assertion_failed(words, place)
        )
    return InterpretedRun(allocations, written_elements, watch, None)


def _run_again(
    kernel: Any, order: InterpretOrder, body: bytes, loaded: Loaded, first: InterpretedRun
) -> InterpretedRun:
    """Return a second run, its programs in the opposite order.

    In the same order if that has no end: a program may wait for those before it, which is no fault
    on devices that start programs in order.
    """
    max_accesses = _ACCESSES_RATIO * first.watch.accesses + _ACCESSES_RATIO
    try:
        return _run(
            kernel, order, body, loaded, _RunOptions(backwards=True, max_accesses=max_accesses)
        )
    except TooManyAccesses:
        return _run(kernel, order, body, loaded, _RunOptions())


def _compare_runs(
    order: InterpretOrder, first: InterpretedRun, second: InterpretedRun
) -> list[Finding]:
    """Return where outputs of two runs differ, or what stopped the second."""
    if second.stopped is not None:
        return [second.stopped]
    found = []
    for leaf in _outputs(order):
        runs = [view(ran.allocations[leaf.allocation].memory, leaf) for ran in (first, second)]
        bits = [np.ascontiguousarray(run).view(f"u{run.itemsize}").reshape(-1) for run in runs]
        places = np.flatnonzero(bits[0] != bits[1])
        if places.size:
            at = int(places[0])
            shown = tuple(str(readable(run, leaf.dtype).reshape(-1)[at]) for run in runs)
            found.append(finding.nondeterministic(leaf, at, (shown[0], shown[1])))
    return found


def _materialise(order: InterpretOrder, body: bytes) -> list[Allocation]:
    try:
        return materialise(order.allocations, order.arguments, body)
    except BadBuffer as error:
        raise Failure("invalid_argument", "request", str(error)) from error


def _trace(wanted: TraceOrder | None) -> Trace | None:
    return None if wanted is None else Trace(wanted.programs, wanted.max_accesses)


def _outputs(order: InterpretOrder) -> list[Leaf]:
    return [leaf for leaf in leaves(order.arguments) if leaf.output]


def _bytes(ran: InterpretedRun, leaf: Leaf) -> bytes:
    return logical_bytes(ran.allocations[leaf.allocation].memory, leaf)


def _modified(ran: InterpretedRun, order: InterpretOrder) -> list[ModifiedInput]:
    """Return the arguments that are no outputs and were changed, with the first element changed."""
    reported = []
    for allocation, elements in ran.watch.modified():
        leaf = next(
            leaf
            for leaf in leaves(order.arguments)
            if ran.allocations[leaf.allocation] is allocation
        )
        first = finding.index_of(int(elements[0]), leaf)
        reported.append(
            ModifiedInput(argument=leaf.name, elements=len(elements), first_index=first)
        )
    return reported

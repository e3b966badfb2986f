"""The task that runs a kernel on Triton's CPU interpreter, every access checked.

Executes user Python, so only a sandboxed child may run it. It is what a launch falls back to for a
kernel that does not compile, and what its translation is compared with; it is another language
than the one that compiles.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import redirect_stdout
from typing import Any

from compiler.front.module import Loaded, load
from compiler.messages.wire import Send
from launch.buffers.allocation import filled, part
from launch.checks import finding
from launch.checks.addresses import AddressSpace
from launch.checks.bounded_output import BoundedOutput
from launch.checks.checked_memory import Watch
from launch.checks.finding import Stopped
from launch.checks.kernel_run import KernelRun, RunOptions, fresh_memory, run_and_report
from launch.checks.races import Races
from launch.checks.written_memory import WrittenBytes, WrittenElements
from launch.interpreter import triton_interpreter, user_errors
from launch.interpreter.kernel_call import find, kernel_values, ordered
from launch.messages import InterpretOrder, RunReport


def interpret(order: InterpretOrder, body: bytes, send: Send) -> RunReport:
    """Run the kernel and report it as `run_and_report` does. Raises `Failure`."""
    with warnings.catch_warnings(), redirect_stdout(BoundedOutput(sys.stdout)):
        warnings.simplefilter("ignore")
        loaded = load(
            part(body, order.source).decode(),
            order.files,
            name=order.module,
            interpreted=[triton_interpreter.InterpretedFunction],
        )
        kernel = find(loaded, order.kernel, order.touched)
        return run_and_report(order, lambda how: _run(kernel, order, body, loaded, how), send)


def _run(
    kernel: Any, order: InterpretOrder, body: bytes, loaded: Loaded, how: RunOptions
) -> KernelRun:
    allocations = fresh_memory(order, body)
    space = AddressSpace(allocations)
    found = filled(order.allocations, order.arguments)
    written_elements = WrittenElements(allocations, found)
    watch = Watch(
        space,
        allocations,
        triton_interpreter.place,
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
        return KernelRun(allocations, written_elements, watch, stopped.finding)
    except Exception as error:
        asserted = user_errors.assertion_of(error)
        if asserted is None:
            raise user_errors.of_kernel(error, loaded) from error
        file, line, words = asserted
        place = finding.KernelPlace(file, line, triton_interpreter.program())
        return KernelRun(
            allocations, written_elements, watch, finding.assertion_failed(words, place)
        )
    return KernelRun(allocations, written_elements, watch, None)

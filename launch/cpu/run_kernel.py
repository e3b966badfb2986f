"""The task that runs a kernel's IR on the CPU, translated to NumPy, with every access checked.

It executes no user Python; the IR is data. Its times mean nothing for a GPU.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import replace

from compiler.messages.wire import Send
from compiler.ttir_to_numpy.refusal import Untranslatable
from launch.buffers.allocation import part
from launch.checks.bounded_output import BoundedOutput
from launch.checks.kernel_run import KernelRun, RunOptions, run_and_report
from launch.cpu.argument_arena import OrderedMemory
from launch.cpu.grid_run import races_until, run_grid
from launch.cpu.translation import needs_gpu, translated
from launch.cpu.tuned_run import tuning_findings
from launch.cpu.undefined_runs import undefined_values
from launch.messages import Finding, RunOrder, RunReport


def run(order: RunOrder, body: bytes, send: Send) -> RunReport:
    """Run the kernel and report it with `run_and_report`.

    Raises `Failure`: `needs_gpu` with the line that a CPU cannot run, `invalid_argument`,
    `out_of_resources`, `check_timeout`.
    """
    until = races_until(order.limit_s)
    form = translated(order, part(body, order.ir).decode())
    memory = OrderedMemory(order, body)

    def grid_ran(how: RunOptions) -> KernelRun:
        return run_grid(form, order, memory, replace(how, until=until))

    def look_again(ran: KernelRun, took_s: float) -> list[Finding]:
        if order.tuning is not None:
            return tuning_findings(form, order, memory, ran)
        return undefined_values(form, order, memory, ran, took_s)

    try:
        with redirect_stdout(BoundedOutput(sys.stdout)):
            return run_and_report(order, grid_ran, send, look_again)
    except RecursionError:
        what = "its functions call each other more deeply than Python allows"
        raise needs_gpu(Untranslatable(what)) from None

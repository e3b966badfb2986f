"""The task that runs a kernel's IR on the CPU, told in NumPy, every access checked.

Runs no user Python; the IR is data. Its times say nothing of a GPU.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

from compiler.messages.wire import Send
from compiler.numpy_module.refusal import Untranslatable
from launch.buffers.allocation import part
from launch.checks.bounded_output import BoundedOutput
from launch.checks.kernel_run import run_and_report
from launch.cpu.grid_run import run_grid
from launch.cpu.launch_memory import OrderedMemory
from launch.cpu.translation import needs_gpu, translated
from launch.messages import RunOrder, RunReport


def run(order: RunOrder, body: bytes, send: Send) -> RunReport:
    """Run the kernel and report it as `run_and_report` does.

    Raises `Failure`: `needs_gpu` with the line of what no CPU does, `invalid_argument`,
    `out_of_resources`.
    """
    form = translated(order, part(body, order.ir).decode())
    memory = OrderedMemory(order, body)
    try:
        with redirect_stdout(BoundedOutput(sys.stdout)):
            return run_and_report(order, lambda how: run_grid(form, order, memory, how), send)
    except RecursionError:
        what = "its functions call each other more deeply than Python's may"
        raise needs_gpu(Untranslatable(what)) from None

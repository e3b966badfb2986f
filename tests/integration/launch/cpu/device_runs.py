"""Runs kernels of tests/kernels/launch on the CPU device, in this process."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from compiler.target import Target
from compiler.ttir_to_numpy.batched_codegen import run_form
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.module_text import TranslatedKernel
from compiler.ttir_to_numpy.task import generic_form
from launch.checks.kernel_run import RunOptions
from launch.cpu.argument_arena import OrderedMemory
from launch.cpu.grid_run import GridLaunch, run_grid
from launch.messages import RunOrder
from tests.integration.compiler.kernels import Kernel, compile_kernel
from tests.integration.launch.child_runs import KERNELS, Bound

TARGET = Target("cuda", 90, 32)


class DeviceLaunch:
    """One kernel, compiled, with its arguments by name in the kernel's order."""

    def __init__(self, children, file, kernel, arguments, grid=(1,), **constexprs):
        self._bound = Bound(arguments)
        text = file if "\n" in file else (KERNELS / file).read_text()
        types = {name: self._type_of(name) for name in arguments}
        request = {"kernel": kernel, "signature": types, "constexprs": constexprs}
        made = compile_kernel(children, Kernel(Path("user.py"), text, request), stop_after="ttir")
        assert made.failure is None, made.failure
        generic, symbol = generic_form(made.stages["source"].decode(), TARGET, "source")
        kernel = TranslatedKernel(symbol, "source", tuple(arguments))
        self._form = run_form(module_of(generic), kernel, {"user.py": text})
        self._grid = (*grid, 1, 1)[:3]

    def run(self, *checks, until=None):
        """Run the programs as one batch, like a launch."""
        order = self._order()
        how = RunOptions(checks, until=until)
        return run_grid(self._form, order, OrderedMemory(order, b""), how)

    def run_one_by_one(self, *checks):
        """Run the programs one by one, with exact checks of every access."""
        order = self._order()
        memory = OrderedMemory(order, b"")
        return GridLaunch(self._form, order, memory, RunOptions(checks), exact_from=0).run()

    def _type_of(self, name):
        argument = self._bound.arguments[name]
        return f"*{argument['dtype']}" if argument["kind"] == "buffer" else argument["dtype"]

    def _order(self):
        return RunOrder(
            ir=(0, 0), stage="source", target=TARGET, files=["user.py"],
            allocations=self._bound.allocations, arguments=self._bound.arguments,
            parameters=list(self._bound.arguments), grid=self._grid,
        )  # fmt: skip


def findings_of(run):
    """Return the findings of a run in words, without columns."""
    found = [*run.access_checker.findings, *([run.stopped] if run.stopped else []), *run.further]
    return [{**asdict(one), "column": None} for one in found]

"""Compiles a generated kernel and runs it on the CPU device, in this process, in every form."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.diagnostic import Failure
from compiler.front import tasks
from compiler.target import Target
from compiler.ttir_to_numpy.batched_codegen import RunForm, run_form
from compiler.ttir_to_numpy.generic_form import loop_names, module_of
from compiler.ttir_to_numpy.module_text import TranslatedKernel, module_text
from compiler.ttir_to_numpy.task import generic_form
from launch.buffers.allocation import Allocation
from launch.buffers.element_types import stored
from launch.checks.kernel_run import RunOptions
from launch.cpu.grid_run import GridLaunch, run_grid
from launch.messages import RunOrder
from tests.differential.kernels.exact_numbers import Kind, Number, to_bits
from tests.differential.kernels.kernel import Kernel

TARGET = Target("cuda", 90, 32)
Memory = dict[str, bytes]
"""The contents of the buffers by name."""


class Refused(Exception):
    """Triton or the device does not take the kernel."""


def bits_of(kind: Kind, values: Sequence[Number]) -> np.ndarray[Any, Any]:
    """Return numbers as the device stores them."""
    bits = [to_bits(kind, value) for value in values]
    return np.array(bits, f"u{max(kind.bits, 8) // 8}").view(stored(kind.short))


@dataclass(frozen=True)
class Given:
    """The memory that a launch begins with: fresh copies of the same arrays."""

    kernel: Kernel
    arrays: Mapping[str, np.ndarray[Any, Any]]

    def fresh(self) -> list[Allocation]:
        return [
            Allocation(b.name, b.kind.short, b.output, self.arrays[b.name].copy())
            for b in self.kernel.buffers
        ]

    def filled(self) -> list[np.ndarray[Any, Any]]:
        return [np.ones(len(b.values), np.bool_) for b in self.kernel.buffers]


@dataclass(frozen=True)
class OnDevice:
    """One kernel from one stage of its IR, as text and in the form of a launch."""

    kernel: Kernel
    artifact: str
    run: RunForm
    checked: RunForm
    given: Given

    def ways(self) -> dict[str, Callable[[], Memory]]:
        """Return the ways in which it runs, by name."""
        return {
            "the artifact": self._artifact,
            "batched": lambda: self._launched(self.run),
            "batches of two": lambda: self._launched(self.run, self._elements_of_two()),
            "batches of one": lambda: self._launched(self.run, batch_elements=1),
            "batched, extents checked": lambda: self._launched(self.checked),
            "one by one, exact": self._exact,
        }

    def _artifact(self) -> Memory:
        module = types.ModuleType("artifact")
        exec(compile(self.artifact, "artifact.py", "exec"), module.__dict__)
        arrays = {allocation.name: allocation.memory for allocation in self.given.fresh()}
        for buffer in self.kernel.buffers:
            if buffer.kind.is_bool:
                arrays[buffer.name] = arrays[buffer.name].view(np.bool_)
            elif not buffer.kind.is_signed:
                arrays[buffer.name] = arrays[buffer.name].view(f"i{buffer.kind.bits // 8}")
        scalars = [value for _, value in self.kernel.scalars.values()]
        with np.errstate(all="ignore"):
            module.launch(module.k, self.kernel.grid, *arrays.values(), *scalars)
        return {name: array.tobytes() for name, array in arrays.items()}

    def _launched(self, form: RunForm, batch_elements: int = 1 << 16) -> Memory:
        order = _order(self.kernel, batch_elements)
        return _memory(run_grid(form, order, self.given, RunOptions()))

    def _elements_of_two(self) -> int:
        """Return what lets two programs run at once: an eighth of it where loops are uneven."""
        return 2 * self.run.largest_tile * (8 if self.run.has_uneven_loops else 1)

    def _exact(self) -> Memory:
        order = _order(self.kernel, 1 << 16)
        return _memory(
            GridLaunch(self.run, order, self.given, RunOptions(("initcheck",)), exact_from=0).run()
        )


def _memory(run: Any) -> Memory:
    found = [*run.access_checker.findings, *([run.stopped] if run.stopped else []), *run.further]
    if found:
        raise AssertionError(f"a finding where nothing is wrong: {found[0]}")
    return {a.name: a.memory.tobytes() for a in run.allocations}


def _order(kernel: Kernel, batch_elements: int) -> RunOrder:
    arguments: dict[str, Any] = {
        buffer.name: {
            "kind": "buffer", "allocation": number, "shape": [len(buffer.values)], "strides": [1],
            "offset": 0, "dtype": buffer.kind.short, "output": buffer.output,
        }
        for number, buffer in enumerate(kernel.buffers)
    }  # fmt: skip
    for name, (kind, value) in kernel.scalars.items():
        given = {"float": float(value).hex()} if kind.is_float else {"int": str(value)}
        arguments[name] = {"kind": "scalar", "value": given, "dtype": kind.short}
    return RunOrder(
        ir=(0, 0), stage="source", target=TARGET, files=["user.py"], allocations=[],
        arguments=arguments, parameters=list(arguments), grid=kernel.grid,
        batch_elements=batch_elements,
    )  # fmt: skip


def compiled(kernel: Kernel, stage: str) -> OnDevice:
    """Return the kernel as the device has it from `source` or `ttir`. Raises `Refused`."""
    signature = {buffer.name: f"*{buffer.kind.short}" for buffer in kernel.buffers}
    signature |= {name: kind.short for name, (kind, _) in kernel.scalars.items()}
    # checks of overflow are dead code that takes a quarter of the time: only every fourth has them
    options = {"enable_fp_fusion": True, "sanitize_overflow": kernel.seed % 8 in {0, 1}}
    order = {
        "kernel": "k", "files": {}, "signature": signature, "constexprs": {},
        "hints": {}, "options": options, "stop_after": stage,
        "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
    }  # fmt: skip
    stages: dict[str, str] = {}

    def keep(header: dict[str, Any], body: bytes) -> None:
        stages[header["stage"]] = body.decode()

    try:
        tasks.TASKS["front"](order, kernel.source().encode(), keep)
        text = stages[stage]
        generic, symbol = generic_form(text, TARGET, stage)
        entry, names = TranslatedKernel(symbol, stage, ()), loop_names(text)
        module = module_of(generic, names)
        forms = [run_form(module, entry, {}, checks_extents=checks) for checks in (False, True)]
        artifact = module_text(module, entry, {})
    except Failure as failure:
        places = [f"line {d.line}: {d.message}" for d in failure.diagnostics]
        raise Refused(f"{failure.slug}: {failure.message} {places[:2]}") from None
    given = Given(kernel, {b.name: bits_of(b.kind, b.values) for b in kernel.buffers})
    return OnDevice(kernel, artifact, forms[0], forms[1], given)

"""Both NumPy forms of one kernel, made in this process and run on the same arrays."""

from __future__ import annotations

import math
import types
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.mix import Mix
from compiler.target import Target
from compiler.ttir_to_numpy.batched_codegen import BatchedParameter, RunForm, run_form
from compiler.ttir_to_numpy.generic_form import loop_names, module_of
from compiler.ttir_to_numpy.module_text import TranslatedKernel, module_text
from compiler.ttir_to_numpy.runtime.launching import dtype_named
from compiler.ttir_to_numpy.task import generic_form
from launch.cpu.descriptors import TensorDescriptor
from launch.cpu.device_print_assert import DevicePrints
from launch.cpu.instance_locations import InstanceLocations
from launch.cpu.kernel import Kernel
from launch.cpu.programs import ProgramInstances
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import Kernel as Source
from tests.integration.compiler.kernels import compile_kernel
from tests.unit.launch.cpu.array_memory import ArrayMemory

TARGET = Target("cuda", 90, 32)
ALL_AT_ONCE = 1 << 40


@dataclass(frozen=True)
class Forms:
    """The translations of one kernel, and the batched module."""

    kernel: str
    artifact: str
    run: RunForm
    checked: RunForm
    """The batched form with assertions of every value's extent."""

    def one_by_one(self, grid: Sequence[int], arguments: Sequence[Any]) -> None:
        """Run the artifact; it changes arrays in place."""
        module = types.ModuleType("told")
        exec(compile(self.artifact, "translated.py", "exec"), module.__dict__)
        module.launch(module.__dict__[self.kernel], grid, *arguments)

    def gather_limited(
        self, grid: Sequence[int], arguments: Sequence[Any], most_elements: int = ALL_AT_ONCE
    ) -> None:
        """Run the batched form, with as many programs at once as `most_elements` allows."""
        self._at_once(self.run, grid, arguments, most_elements)

    def at_once_checked(self, grid: Sequence[int], arguments: Sequence[Any]) -> None:
        """Run all programs at once; raises AssertionError for a value of the wrong extent."""
        self._at_once(self.checked, grid, arguments, ALL_AT_ONCE)

    def _at_once(
        self, form: RunForm, grid: Sequence[int], arguments: Sequence[Any], most_elements: int
    ) -> None:
        programs = ProgramInstances(grid)
        memory = ArrayMemory()
        values = [
            value_of(memory, parameter, argument)
            for parameter, argument in zip(form.parameters, arguments, strict=True)
        ]
        prints = DevicePrints(programs, InstanceLocations(form.locations))
        kernel = Kernel(form, programs, memory.of(programs), prints)
        total, size = math.prod(grid), kernel.batch_size(most_elements)
        for first in range(0, total, size):
            kernel.run_batch(np.arange(first, min(first + size, total)), values)


def value_of(memory: ArrayMemory, parameter: BatchedParameter, argument: Any) -> Any:
    """Return the batched form's argument for an array or a number."""
    kind = parameter.type
    if kind.startswith("*"):
        return memory.pointer(argument, kind[1:])
    if not kind.startswith("tensordesc"):
        return np.array([argument]).astype(dtype_named(kind))
    element, _, block = kind[len("tensordesc<") : -2].partition("[")
    base = memory.pointer(argument, element)
    strides = [np.array([stride // argument.itemsize]) for stride in argument.strides]
    shape = [np.array([size]) for size in argument.shape]
    return TensorDescriptor(base, shape, strides, tuple(int(size) for size in block.split(",")))


def forms_of(ir: str | bytes, stage: str = "ttir") -> Forms:
    """Return both forms of IR."""
    text = ir if isinstance(ir, str) else ir.decode()
    generic, symbol = generic_form(text, TARGET, stage)
    translated = TranslatedKernel(symbol, stage, ())
    names = loop_names(text)
    artifact = module_text(module_of(generic, names), translated, {})
    run, checked = (
        run_form(module_of(generic, names), translated, {}, checks_extents=checks)
        for checks in (False, True)
    )
    return Forms(symbol, artifact, run, checked)


def compiled(children: Children, source: Source) -> tuple[Forms, Forms]:
    """Return the forms of a kernel from `source` and from `ttir`."""
    made = compile_kernel(children, source, stop_after="ttir")
    assert made.failure is None, made.failure
    return forms_of(made.stages["source"], "source"), forms_of(made.stages["ttir"], "ttir")


@cache
def mix() -> dict[str, Source]:
    """Return a benchmark request for each of its kernels and each of their flags."""
    found = {}
    for request in Mix().real():
        sizes = dict(request["constexprs"])
        signature = {}
        for name, kind in request["signature"].items():
            kind, _, hint = kind.partition(":")
            if hint == "1":
                sizes[name] = 1
            else:
                signature[name] = kind
        flags = [v for v in sizes.values() if isinstance(v, str) or v is True]
        name = "-".join([request["kernel"], *map(str, flags)])
        wanted = {**request, "signature": signature, "constexprs": sizes}
        source = wanted.pop("source")
        found.setdefault(name, Source(Path("user.py"), source, wanted))
    return found

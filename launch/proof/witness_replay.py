"""Runs one program on the CPU device at the sizes of a witness, and reports what it touched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np

from compiler.diagnostic import Failure
from compiler.ttir_to_numpy.batched.program_axes import ProgramAxes
from compiler.ttir_to_numpy.batched_codegen import RunForm
from compiler.ttir_to_numpy.runtime.launching import dtype_named
from launch.checks.checked_memory import TooManyAccesses
from launch.checks.finding import KernelLocation, Stopped
from launch.cpu.arguments import arguments_of
from launch.cpu.device_print_assert import DevicePrints
from launch.cpu.instance_locations import InstanceLocations, operation_here
from launch.cpu.kernel import Kernel
from launch.cpu.programs import ProgramInstances, RoundsSpent
from launch.cpu.translation import translated
from launch.messages import RunOrder
from launch.proof.proof_messages import ProveOrder
from launch.proof.virtual_memory import (
    TouchedElement,
    VirtualMemory,
    VirtualSpace,
)

MAX_ACCESSES = 20_000
"""Accesses of one program; a loop may make more, and is not run to its end."""
MAX_TURNS = 20_000
"""Turns of all loops of one program."""
MAX_BYTES = 1 << 38
"""The largest buffer whose addresses fit next to those of others."""


class NotReplayed(Exception):
    """The CPU device cannot run the witness; the message explains why."""


@dataclass(frozen=True)
class ReplayedProgram:
    """The accesses of one program, in order; `ended` is what stopped it, "" for its end."""

    touched: list[TouchedElement]
    ended: str
    axes: ProgramAxes | None


@dataclass(frozen=True)
class WitnessLaunch:
    """The launch of a witness, as far as the CPU device needs it."""

    parameters: Sequence[str]
    types: Mapping[str, str]
    """The MLIR type of each parameter."""
    scalars: Mapping[str, int]
    extents: Mapping[str, int]
    values: Mapping[str, Mapping[int, int]]
    fill: Mapping[str, range]
    """The range of a buffer's values; without one, they are 0."""
    grid: Sequence[int]
    program: Sequence[int]


class _BoundedInstances(ProgramInstances):
    """One program whose loops make a bounded number of turns, accesses or not."""

    def __init__(self, grid: Sequence[int]) -> None:
        self._turns = 0
        super().__init__(grid)

    def begin_round(self, of_loop: int = 0) -> None:
        self._turns += 1
        if self._turns > MAX_TURNS:
            raise RoundsSpent
        super().begin_round(of_loop)


def _unwatched(number: int, values: Any) -> None:
    """Ignore what an operation computes."""


def replay(
    order: ProveOrder,
    text: str,
    launch: WitnessLaunch,
    most_accesses: int = MAX_ACCESSES,
    *,
    watched: frozenset[int] = frozenset(),
    watch: Callable[[int, Any], None] = _unwatched,
) -> ReplayedProgram:
    """Run one program of `text`; `watch` gets what `watched` operations compute, by number.

    Raises NotReplayed.
    """
    arguments = {name: _argument(name, launch) for name in launch.parameters}
    run = RunOrder(
        ir=(0, len(text)),
        stage="ttir",
        target=order.target,
        files=order.files,
        allocations=[],
        arguments=arguments,
        parameters=launch.parameters,
        grid=launch.grid,
        ir_bounds=order.ir_bounds,
    )
    try:
        form = translated(run, text, watched)
    except Failure as failure:
        raise NotReplayed(failure.message) from failure
    programs = _BoundedInstances(launch.grid)
    locations = InstanceLocations(form.locations)
    space = _space_of(launch, form)

    def location() -> KernelLocation:
        return locations.here(programs.program_at(0))

    def operation() -> int:
        return operation_here(form.operations)

    memory = VirtualMemory(
        programs, space, location, launch.values, launch.fill, most_accesses, operation
    )
    kernel = Kernel(form, programs, memory, DevicePrints(programs, locations), watch)
    ended = _run(kernel, _number_of(launch), arguments_of(
        form.parameters, launch.parameters, arguments, space  # type: ignore[arg-type]
    ))  # fmt: skip
    return ReplayedProgram(memory.touched, ended, form.axes)


def _space_of(launch: WitnessLaunch, form: RunForm) -> VirtualSpace:
    """Return the addresses of the launch's buffers. Raises NotReplayed for one too large."""
    widths = {
        name: dtype_named(parameter.type.removeprefix("*k").removeprefix("*")).itemsize
        for name, parameter in zip(launch.parameters, form.parameters, strict=False)
        if parameter.type.startswith("*")
    }
    for name, width in widths.items():
        if launch.extents[name] * width > MAX_BYTES:
            raise NotReplayed(f"{name} would have more than 2^38 bytes there")
    return VirtualSpace(launch.extents, widths)


def _run(kernel: Kernel, number: int, arguments: list[Any]) -> str:
    """Run one program, and return what stopped it, "" for its end."""
    ended = ""
    try:
        with redirect_stdout(StringIO()):
            kernel.run_batch(np.array([number], np.int64), arguments)
    except (TooManyAccesses, RoundsSpent):
        ended = "it was stopped after many accesses, or turns of loops"
    except Stopped as stopped:
        ended = stopped.finding.message
    return ended


def _number_of(launch: WitnessLaunch) -> int:
    width, height = launch.grid[0], launch.grid[1]
    x, y, z = launch.program
    return x + width * (y + height * z)


def _argument(name: str, launch: WitnessLaunch) -> dict[str, Any]:
    if name in launch.extents:
        return {
            "kind": "buffer", "allocation": 0, "shape": [launch.extents[name]], "strides": [1],
            "offset": 0, "dtype": "fp32", "output": False,
        }  # fmt: skip
    kind = launch.types[name]
    if "tensordesc" in kind:
        raise NotReplayed(f"the host makes the tensor descriptor {name}")
    if name in launch.scalars:
        return {"kind": "scalar", "value": launch.scalars[name], "dtype": kind}
    if kind.startswith("f") or kind == "bf16":
        return {"kind": "scalar", "value": 1.0, "dtype": kind}
    return {"kind": "scalar", "value": 1, "dtype": kind}

"""Runs a kernel again with other values in lanes that have none: what then differs depends on them.

The first run has zeros there. Only kernels run again whose undefined lanes may reach more than
accesses under the same mask, and that had such lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.diagnostic import file_in_kernel
from compiler.ttir_to_numpy.batched.undefined_values import UndefinedSource
from compiler.ttir_to_numpy.batched_codegen import RunForm
from launch.checks import finding
from launch.checks.checked_memory import TooManyAccesses
from launch.checks.finding import KernelLocation
from launch.checks.kernel_run import KernelRun, RunOptions, differences
from launch.checks.undefined_filling import Filling, UndefinedLane
from launch.cpu.argument_arena import LaunchMemory
from launch.cpu.grid_run import run_grid
from launch.messages import Finding, RunOrder

_MAX_NAMED = 5
"""Operations that are tried alone, after all together made a difference."""
_VALUES = 3
"""The values to try."""
_FEW_LANES = 8
"""With fewer undefined lanes, each of them gets each value, in separate runs."""
_SHARE = 0.25
"""The share of the time limit that the first run may have taken."""
_MORE = 4
"""The accesses and rounds that a run with other values may have, relative to the first run's."""
_FILLED = {"-inf": "float('-inf')", "inf": "float('inf')"}
_NEUTRAL = {
    "tl.max": "-inf", "tl.argmax": "-inf", "tl.min": "inf", "tl.argmin": "inf", "tl.prod": "1.0",
    "tl.cumprod": "1.0",
}  # fmt: skip
"""The `other` that leaves a reduction as it is, where it is not 0."""


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
    found = []
    for number in numbers[:_MAX_NAMED]:
        alone = Filling([number], filling.rotation)
        words = _difference(form, order, memory, first, alone)
        if words is not None:
            found.append(_finding(form, order, number, first.undefined[number], words))
    return found or [_finding(form, order, numbers[0], first.undefined[numbers[0]], told)]


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
    for one in differences(order, first, ran):
        index = [int(at) for at in np.unravel_index(one.element, one.leaf.shape)]
        place = f"{one.leaf.name}[{', '.join(map(str, index))}]"
        zero, other = one.values
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
        kind = "uninitialized" if "initcheck" in order.checks else "undefined_value"
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

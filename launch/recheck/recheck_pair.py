"""Runs two kernels that were proved to store the same, and compares every byte that they store.

Launches are small and whole: each keeps both contracts, with buffers of the same sizes. An empty
grid stores nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from compiler.ttir_to_numpy.batched_codegen import RunForm, run_form
from compiler.ttir_to_numpy.mlir_types import TRITON_NAMES, element_of, pointee_of
from compiler.ttir_to_numpy.module_text import TranslatedKernel
from compiler.ttir_to_numpy.runtime.launching import dtype_named
from launch.buffers.element_types import Array
from launch.cpu.instance_locations import InstanceLocations
from launch.cpu.kernel import Kernel
from launch.cpu.programs import RoundsSpent
from launch.recheck.buffer_contents import CHOICES, BufferContents
from launch.recheck.contract_values import LegalLaunch, identifier, read_contract_text
from launch.recheck.kernel_form import (
    STAGE,
    Assertions,
    BoundedPrograms,
    Ended,
    NotRunnable,
    argument_of,
    constants_of,
    named_arguments,
    read_kernel,
    refusing,
)
from launch.recheck.kernel_launches import buffers_of, launch_search
from launch.recheck.launch_search import LaunchSearch, is_none
from launch.recheck.recheck_messages import CheckRecheck, RecheckedKernel, RecheckOrder
from launch.recheck.stored_memory import StoredMemory

MOST_LAUNCHES, MOST_SEARCHES = 60, 200
MOST_ELEMENTS = 1 << 14
"""Of a buffer."""
MOST_PROGRAMS = 512
MOST_TURNS = 10_000
"""Turns of all loops of one kernel at small sizes; more is taken to be without end."""
MOST_LANES = 1 << 16


@dataclass(frozen=True)
class _Half:
    """One of two kernels."""

    types: Mapping[str, str]
    form: RunForm
    search: LaunchSearch


def recheck_pair(
    order: RecheckOrder, other: RecheckedKernel, texts: tuple[str, str], until: float
) -> CheckRecheck:
    """Return whether both kernels store the same wherever they ran. Raises NotRunnable."""
    halves = [
        _half(order, kernel, text)
        for kernel, text in zip((order.kernel, other), texts, strict=True)
    ]
    runs = 0
    launches = halves[0].search.launches()
    for turn in range(MOST_SEARCHES):
        if runs == MOST_LAUNCHES or time.process_time() > until:
            break
        is_large, first = next(launches)
        if is_large or is_none(first) or not _is_small(first):
            continue
        names = {identifier(k): v for k, v in {**first.scalars, **first.sizes}.items()}
        second = halves[1].search.joining(names)
        if second is None or not _is_small(second) or not _are_alike(first, second):
            continue
        message = _difference(halves, (first, second), CHOICES[turn % len(CHOICES)])
        runs += 1
        if message:
            sizes = first.names() | {f"second {k}": v for k, v in second.names().items()}
            return CheckRecheck(outcome="violated", message=message, sizes=sizes)
    return CheckRecheck(outcome="agrees", runs=runs)


def _half(order: RecheckOrder, kernel: RecheckedKernel, text: str) -> _Half:
    with refusing():
        module, symbol, function = read_kernel(text, order.target, order.ir_bounds)
        types = named_arguments(function, kernel.parameters)
        constants = constants_of(function)
        is_cuda = order.target.backend == "cuda"
        translated = TranslatedKernel(symbol, STAGE, list(types), is_cuda, kernel.fp_fusion)
        form = run_form(module, translated, dict.fromkeys(kernel.files, ""))
    contract = read_contract_text(kernel.contract)
    buffers = [name for name, kind in types.items() if pointee_of(kind) is not None]
    endless = [name for name in buffers if identifier(name) not in contract.extents]
    if endless:
        message = f"the contract does not have the elements of {endless[0]}"
        raise NotRunnable(message)
    search = launch_search(order, kernel, types, constants, contract)
    return _Half(types, form, replace(search, allows_empty_grid=True))


def _is_small(launch: LegalLaunch) -> bool:
    width, height, depth = launch.grid
    is_short = all(size <= MOST_ELEMENTS for size in launch.extents.values())
    return is_short and width * height * depth <= MOST_PROGRAMS


def _are_alike(first: LegalLaunch, second: LegalLaunch) -> bool:
    """Return whether two launches have the same buffers, as far as both kernels take them."""
    shared = first.extents.keys() & second.extents.keys()
    return all(first.extents[name] == second.extents[name] for name in shared)


def _difference(halves: list[_Half], launches: tuple[LegalLaunch, LegalLaunch], choice: str) -> str:
    """Return what two kernels store differently, "" for nothing."""
    ranges = {**launches[0].ranges, **launches[1].ranges}
    contents = BufferContents(choice, ranges)  # type: ignore[arg-type]
    stored = [
        _stored(half, launch, contents) for half, launch in zip(halves, launches, strict=True)
    ]
    first, second = stored
    if first is None or second is None:
        if first is None and second is None:
            return ""
        number = "first" if first is None else "second"
        return f"the {number} kernel does not end within {MOST_TURNS:,} turns of loops"
    for name in first.keys() & second.keys():
        place = _first_difference(first[name], second[name])
        if place is not None:
            return f"{name}[{place:,}] differs"
    return ""


def _stored(half: _Half, launch: LegalLaunch, contents: BufferContents) -> dict[str, Array] | None:
    """Return what is in the buffers of a kernel that has run; None where it does not end."""
    arrays = {}
    for name, kind in half.types.items():
        pointee = pointee_of(kind)
        if pointee is not None:
            places = np.arange(launch.extents[name])
            arrays[name] = contents.values(name, places, _dtype_of(pointee)).copy()
    width, height, depth = launch.grid
    total = width * height * depth
    if not total:
        return arrays
    programs = BoundedPrograms()
    programs.start(launch.grid, MOST_TURNS)
    memory = StoredMemory(programs)
    memory.begin({name: array.view(np.uint8) for name, array in arrays.items()})
    kernel = Kernel(
        half.form, programs, memory, Assertions(programs, InstanceLocations(half.form.locations))
    )
    buffers = buffers_of(half.types, launch)
    arguments = [argument_of(one.name, one.type, launch, buffers) for one in half.form.parameters]
    at_once = max(1, MOST_LANES // half.form.largest_tile) if half.form.is_batchable else 1
    try:
        for start in range(0, total, at_once):
            numbers = np.arange(start, min(start + at_once, total), dtype=np.int64)
            kernel.run_batch(numbers, arguments)
    except RoundsSpent:
        return None
    except Ended:
        return {}  # an assumption does not hold: what is stored then is anything
    return arrays


def _first_difference(first: Array, second: Array) -> int | None:
    """Return the first element whose bytes differ; NaNs are alike, whatever their bits."""
    bits = np.dtype(f"u{first.dtype.itemsize}")
    differs = first.view(bits) != second.view(bits)
    if first.dtype.kind not in "iub":
        differs &= ~((first != first) & (second != second))
    return int(differs.argmax()) if differs.any() else None


def _dtype_of(pointee: str) -> np.dtype[Any]:
    is_pointer = pointee_of(pointee) is not None
    return np.dtype(np.int64 if is_pointer else dtype_named(TRITON_NAMES[element_of(pointee)]))

"""Runs whole small launches of a kernel in buffers with bytes: what is in them afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from compiler.ttir_to_numpy.batched_codegen import RunForm, run_form
from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.mlir_types import TRITON_NAMES, element_of, pointee_of
from compiler.ttir_to_numpy.module_text import TranslatedKernel
from compiler.ttir_to_numpy.runtime.launching import dtype_named
from launch.buffers.element_types import Array
from launch.checks.access import AccessForm
from launch.checks.addresses import SLOT_BITS
from launch.cpu.instance_locations import InstanceLocations
from launch.cpu.kernel import Kernel
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances, RoundsSpent
from launch.recheck.access_memory import address_of, of_rank
from launch.recheck.access_slice import accesses_of
from launch.recheck.buffer_contents import BufferContents
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
from launch.recheck.launch_search import LaunchSearch
from launch.recheck.recheck_messages import RecheckedKernel, RecheckOrder

MAX_ELEMENTS = 1 << 14
"""Of a buffer."""
MAX_PROGRAMS = 512
MAX_TURNS = 10_000
"""Turns of all loops of one kernel at small sizes; more is taken to be without end."""
MAX_LANES = 1 << 16
Shape = tuple[int, ...]
_ATOMIC = "two kernels with atomic operations"


@dataclass(frozen=True)
class SmallKernel:
    """A kernel that is ready to run small launches."""

    types: Mapping[str, str]
    form: RunForm
    search: LaunchSearch
    function: Operation
    accesses: list[Operation]


def small_kernel_of(order: RecheckOrder, kernel: RecheckedKernel, text: str) -> SmallKernel:
    """Return a kernel that is ready to run. Raises NotRunnable, UnreadContract."""
    with refusing():
        module, symbol, function = read_kernel(text, order.target, order.ir_bounds)
        types = named_arguments(function, kernel.parameters)
        constants = constants_of(function)
        accesses = accesses_of(function)
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
    return SmallKernel(types, form, replace(search, allows_empty_grid=True), function, accesses)


def is_small(launch: LegalLaunch) -> bool:
    """Return whether a launch has few elements and programs."""
    width, height, depth = launch.grid
    is_short = all(size <= MAX_ELEMENTS for size in launch.extents.values())
    return is_short and width * height * depth <= MAX_PROGRAMS


def stored(
    kernel: SmallKernel, launch: LegalLaunch, contents: BufferContents
) -> dict[str, Array] | None:
    """Return what is in the buffers of a kernel that has run; None where it does not end."""
    arrays = {}
    for name, kind in kernel.types.items():
        pointee = pointee_of(kind)
        if pointee is not None:
            places = np.arange(launch.extents[name])
            arrays[name] = contents.values(name, places, _dtype_of(pointee)).copy()
    width, height, depth = launch.grid
    total = width * height * depth
    if not total:
        return arrays
    programs = BoundedPrograms()
    programs.start(launch.grid, MAX_TURNS)
    memory = StoredMemory(programs)
    memory.begin({name: array.view(np.uint8) for name, array in arrays.items()})
    prints = Assertions(programs, InstanceLocations(kernel.form.locations))
    ready = Kernel(kernel.form, programs, memory, prints)
    buffers = buffers_of(kernel.types, launch)
    arguments = [
        argument_of(parameter.name, parameter.type, launch, buffers)
        for parameter in kernel.form.parameters
    ]
    at_once = max(1, MAX_LANES // kernel.form.largest_tile) if kernel.form.is_batchable else 1
    try:
        for start in range(0, total, at_once):
            numbers = np.arange(start, min(start + at_once, total), dtype=np.int64)
            ready.run_batch(numbers, arguments)
    except RoundsSpent:
        return None
    except Ended:
        return {}  # an assumption does not hold: what is stored then is anything
    return arrays


def _dtype_of(pointee: str) -> np.dtype[Any]:
    is_pointer = pointee_of(pointee) is not None
    return np.dtype(np.int64 if is_pointer else dtype_named(TRITON_NAMES[element_of(pointee)]))


class StoredMemory:
    """Loads, stores and atomics, as `launch.cpu.kernel` calls them. Lanes outside do nothing."""

    def __init__(self, programs: ProgramInstances) -> None:
        self._programs = programs
        self._buffers: Sequence[Array] = ()

    def begin(self, buffers: Mapping[str, Array]) -> None:
        """Start a launch whose buffers have these bytes, which it changes."""
        self._buffers = list(buffers.values())

    def load(
        self,
        pointer: Pointer,
        mask: Any = None,
        other: Any = None,
        shape: Shape = (),
        *,
        form: AccessForm | None = None,
    ) -> Array:
        """Return what is stored, `other` (or 0) where `mask` is false."""
        wide = self._wide(shape)
        loaded = np.zeros(wide, pointer.dtype)
        if other is not None:
            loaded[...] = of_rank(np.atleast_1d(other), len(wide)).astype(pointer.dtype)
        for buffer, lanes, places in self._located(pointer, mask, wide):
            loaded[lanes] = buffer[places].view(pointer.dtype)[..., 0]
        return loaded

    def store(
        self,
        pointer: Pointer,
        value: Any,
        mask: Any = None,
        shape: Shape = (),
        *,
        form: AccessForm | None = None,
    ) -> None:
        """Store a value; of equal addresses, the last one stays."""
        wide = self._wide(shape)
        stored = np.atleast_1d(np.asarray(value).astype(pointer.dtype))
        values = np.broadcast_to(of_rank(stored, len(wide)), wide)
        for buffer, lanes, places in self._located(pointer, mask, wide):
            chosen = np.ascontiguousarray(values[lanes])[..., None]
            buffer[places] = chosen.view(np.uint8).reshape(places.shape)

    def atomic(
        self,
        kind: str,
        pointer: Pointer,
        value: Any,
        mask: Any,
        shape: Shape,
        is_used: bool,
        *,
        semantics: str | None = None,
        within_program: bool = False,
        form: AccessForm | None = None,
    ) -> Any:
        """Refuse it: two kernels with atomic operations are not compared."""
        raise NotRunnable(_ATOMIC)

    def compare_and_swap(
        self,
        pointer: Pointer,
        expected: Any,
        value: Any,
        shape: Shape,
        *,
        semantics: str | None = None,
        within_program: bool = False,
    ) -> Array:
        """Refuse it."""
        raise NotRunnable(_ATOMIC)

    def _wide(self, shape: Shape) -> Shape:
        return (self._programs.count, *shape)

    def _located(
        self, pointer: Pointer, mask: Any, wide: Shape
    ) -> list[tuple[Array, Array, Array]]:
        """Return for each buffer its bytes, its live lanes, and the places of their bytes."""
        rank = len(wide)
        live = np.broadcast_to(True, wide)
        if mask is not None:
            live = live & of_rank(np.atleast_1d(mask), rank)
        active = self._programs.active
        if active is not None:
            live = live & active.reshape(-1, *(1,) * (rank - 1))
        addresses = np.broadcast_to(of_rank(pointer.address, rank), wide)
        numbers = (addresses >> SLOT_BITS) - 1
        size = pointer.dtype.itemsize
        places = []
        for number, buffer in enumerate(self._buffers):
            offsets = addresses - address_of(number)
            lanes = live & (numbers == number) & (offsets >= 0) & (offsets <= len(buffer) - size)
            if lanes.any():
                places.append((buffer, lanes, offsets[lanes][:, None] + np.arange(size)))
        return places

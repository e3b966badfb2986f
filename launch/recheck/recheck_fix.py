"""The task `recheck_fix`: runs a kernel before and after a change, where no integer wraps.

The change keeps the meaning if it stores the same in every element that does not depend on memory
outside of buffers, and if nothing depends on what a load has in lanes without memory. Such lanes
hold one value in one run and another in the next, so what depends on them differs.

A new `other` must be the value that reductions do not notice. It is compared with a run in which
these lanes are NaN, and reductions leave NaN out.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice
from typing import Any

import ml_dtypes
import numpy as np

from compiler.messages.wire import Send
from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.mlir_types import element_of
from launch.buffers.element_types import Array
from launch.cpu.instance_locations import InstanceLocations
from launch.cpu.kernel import Kernel
from launch.cpu.programs import RoundsSpent
from launch.recheck.buffer_contents import BufferContents
from launch.recheck.contract_values import LegalLaunch, UnreadContract
from launch.recheck.float_slice import is_only_reduced, is_summed, is_used_under_its_mask
from launch.recheck.kernel_form import (
    Assertions,
    BoundedPrograms,
    Ended,
    KernelForms,
    NotRunnable,
    argument_of,
    forms_of,
)
from launch.recheck.kernel_launches import buffers_of
from launch.recheck.launch_search import is_none
from launch.recheck.poisoned_memory import REPLACED, LostValue, PoisonedMemory, SparseBuffer
from launch.recheck.recheck_messages import CheckRecheck, FixOrder, RecheckReport
from launch.recheck.sampled_programs import sampled_programs
from launch.recheck.small_runs import MAX_LANES, MAX_TURNS, SmallKernel, small_kernel_of
from launch.recheck.wrapped_integers import WrappedIntegers

MAX_LAUNCHES, MAX_SEARCHES = 60, 400
MAX_CPU_S = 2.0
MAX_PROGRAMS = 32
MAX_BYTES = 1 << 38
"""Of a buffer."""
_CLOSE = 1e-3
"""The largest difference of sums in another order, relative to the largest element."""
_OTHERS = 3
"""The operands of a load with `other`, after pointer and mask."""
_SIGNS, _MIN_VALUE = (-1, 1, 0), 0.25
"""The signs of floats in launches, and the least size of those with one sign."""


def recheck_fix(order: FixOrder, body: bytes, _: Send) -> RecheckReport:
    """Run both kernels of an order."""
    started = time.process_time()
    size = order.kernel.ttir_bytes
    assert order.other is not None
    try:
        text = bytes(body[:size]).decode()
        forms = forms_of(order.kernel, text, order.target, order.ir_bounds, overflow=True)
        before = small_kernel_of(order, order.kernel, text)
        after = small_kernel_of(order, order.other, bytes(body[size:]).decode())
        compared = _compared(order, forms, before, after, started + MAX_CPU_S)
    except (NotRunnable, UnreadContract) as refused:
        return RecheckReport(refused=str(refused), ms=_ms_since(started))
    return RecheckReport(equivalent=compared, runs=compared.runs, ms=_ms_since(started))


def _ms_since(started: float) -> float:
    return round((time.process_time() - started) * 1000, 3)


def _compared(
    order: FixOrder, forms: KernelForms, before: SmallKernel, after: SmallKernel, until: float
) -> CheckRecheck:
    if len(before.accesses) != len(after.accesses):
        message = "a change of the number of accesses"
        raise NotRunnable(message)
    changed = after.accesses[order.access]
    adds_other = _has_other(changed) and not _has_other(before.accesses[order.access])
    message = _lost(changed, after.function, adds_other=adds_other) if order.is_masked else ""
    if message:
        return CheckRecheck(outcome="violated", message=message)
    # reductions leave out NaN, and integers have none: a sum of integers never notices a 0
    adds_other = adds_other and not is_summed(changed.results[0], after.function)
    runs = 0
    for is_large, launch in islice(before.search.launches(), MAX_SEARCHES):
        if runs == MAX_LAUNCHES or time.process_time() > until:
            break
        if is_large or is_none(launch) or not _has_room(launch, before):
            continue
        contents = _Contents("spread", launch.ranges, runs, _SIGNS[runs % 3])
        programs = _exact_programs(forms, launch, contents)
        if not programs:
            continue
        both = _Both(before, after, launch, programs, contents)
        number = changed.number if adds_other else None
        seen = both.difference(is_masked=order.is_masked, adds_other=number)
        runs += seen is not None
        if seen:
            return CheckRecheck(outcome="violated", message=seen, sizes=launch.names())
    return CheckRecheck(outcome="agrees" if runs else "not_modelled", runs=runs)


def _lost(load: Operation, function: Operation, *, adds_other: bool) -> str:
    """Return why something may depend on lanes that a new mask leaves out, "" if nothing does."""
    if load.name != "tt.load" or (_has_other(load) and not adds_other):
        return ""
    if not adds_other:
        is_safe = is_used_under_its_mask(load, function)
        return "" if is_safe else "what masked lanes hold is used where they are not masked"
    [loaded] = load.results
    is_float = element_of(loaded.type).startswith(("f", "bf"))
    if is_only_reduced(loaded, function, is_float=is_float) or is_summed(loaded, function):
        return ""
    return "its values are compared or selected, so that no run tells which `other` is right"


def _exact_programs(forms: KernelForms, launch: LegalLaunch, contents: BufferContents) -> list[int]:
    """Return programs of a launch whose accesses use no integer that wraps.

    Where one wraps, a kernel stores in other places than it should.
    """
    sizes = {*launch.scalars.values(), *launch.sizes.values()}
    numbers = sampled_programs(launch.grid, sizes, MAX_PROGRAMS)
    if forms.exact.is_batchable and _is_exact(forms, launch, contents, numbers):
        return numbers
    return [number for number in numbers if _is_exact(forms, launch, contents, [number])]


def _is_exact(
    forms: KernelForms, launch: LegalLaunch, contents: BufferContents, numbers: list[int]
) -> bool:
    if forms.as_it_is is None:
        return True
    buffers = buffers_of(forms.types, launch)
    machine, exact = (
        form.run(launch, buffers, contents, numbers, MAX_TURNS)
        for form in (forms.as_it_is, forms.exact)
    )
    if not (machine.is_whole and exact.is_whole and len(machine.trace) == len(exact.trace)):
        return False
    return not WrappedIntegers((machine, exact), buffers, forms.function, forms.accesses).messages


def _has_room(launch: LegalLaunch, kernel: SmallKernel) -> bool:
    """Return whether addresses of all buffers fit next to each other."""
    buffers = buffers_of(kernel.types, launch)
    return min(launch.grid) > 0 and all(
        buffer.size * buffer.width <= MAX_BYTES for buffer in buffers
    )


def _has_other(access: Operation) -> bool:
    return access.name == "tt.load" and len(access.operands) == _OTHERS


@dataclass(frozen=True)
class _Contents(BufferContents):
    """Contents whose floats all have one sign, unless `sign` is 0: maxima and minima differ."""

    sign: int = 0

    def values(self, name: str, elements: Array, dtype: np.dtype[Any]) -> Array:
        """Return what `elements` of a buffer hold."""
        values = super().values(name, elements, dtype)
        if not self.sign or dtype.kind in "iub":
            return values
        return ((np.abs(values.astype(np.float64)) + _MIN_VALUE) * self.sign).astype(dtype)


@dataclass(frozen=True)
class _Both:
    """A launch of a kernel before and after a change."""

    before: SmallKernel
    after: SmallKernel
    launch: LegalLaunch
    programs: list[int]
    contents: BufferContents

    def difference(self, *, is_masked: bool, adds_other: int | None) -> str | None:
        """Return what differs, "" for nothing; None where a kernel does not end.

        Nothing may depend on lanes that a new mask leaves out, where the change `is_masked`.
        `adds_other` is the number of the load's operation that has an `other` now.
        """
        runs = [
            self._stored(kernel, value)
            for kernel in (self.before, self.after)
            for value in LostValue.numbers()
        ]
        if adds_other is not None:
            runs.append(self._stored(self.after, LostValue.NAN, adds_other))
        buffers = [run for run in runs if run is not None]
        if len(buffers) < len(runs):
            return None
        for each in zip(*buffers, strict=True):
            name = each[0].name
            places = np.unique(np.concatenate([buffer.places for buffer in each]))
            dtype = next((buffer.dtype for buffer in each if buffer.dtype is not None), None)
            if dtype is None:
                continue
            held = [buffer.values(places, dtype, self.contents) for buffer in each]
            difference = _difference(held, is_masked=is_masked)
            if difference is not None:
                return f"{name}[{places[difference[0]]:,}] {difference[1]}"
        return ""

    def _stored(
        self, kernel: SmallKernel, value: LostValue, without_other: int | None = None
    ) -> list[SparseBuffer] | None:
        """Return the buffers of a kernel after a run, None where it does not end."""
        launch, form = self.launch, kernel.form
        buffers = buffers_of(kernel.types, launch)
        programs = BoundedPrograms()
        programs.start(launch.grid, MAX_TURNS)
        memory = PoisonedMemory(
            programs, form.operations, value, without_other, buffers, self.contents
        )
        prints = Assertions(programs, InstanceLocations(form.locations))
        replaced = {} if without_other is None else REPLACED
        ready = Kernel(form, programs, memory, prints, replaced=replaced)
        arguments = [
            argument_of(parameter.name, parameter.type, launch, buffers)
            for parameter in form.parameters
        ]
        at_once = max(1, MAX_LANES // form.largest_tile) if form.is_batchable else 1
        try:
            for start in range(0, len(self.programs), at_once):
                batch = np.array(self.programs[start : start + at_once], np.int64)
                ready.run_batch(batch, arguments)
        except (RoundsSpent, Ended):
            return None
        return memory.buffers


def _difference(held: list[Array], *, is_masked: bool) -> tuple[int, str] | None:
    """Return the first element that differs between runs, and how; None for none.

    Two runs are of the first kernel, two of the changed one; a last one leaves out lost lanes.
    """
    first, second, made, other, *reduced = held
    is_defined = _same(first, second)
    if is_masked and (place := _first(~_same(made, other))) is not None:
        return place, "depends on lanes without memory"
    if (place := _first(is_defined & ~_same(first, made))) is not None:
        return place, "differs"
    for reduced_run in reduced:
        is_same = _close(made, reduced_run) | (is_defined & _same(made, reduced_run))
        if (place := _first(~is_same)) is not None:
            return place, "is not what the lanes with memory give"
    return None


def _same(a: Array, b: Array) -> Array:
    """Return where two arrays have the same bits, or NaNs."""
    bits = np.dtype(f"u{a.dtype.itemsize}")
    is_same: Array = a.view(bits) == b.view(bits)
    if a.dtype.kind not in "iub":
        is_same |= (a != a) & (b != b)
    return is_same


def _close(a: Array, b: Array) -> Array:
    """Return where two arrays are equal up to rounding. NaNs are equal to nothing."""
    if a.dtype.kind in "iub":
        return _same(a, b)
    x, y = a.astype(np.float64), b.astype(np.float64)
    most = np.abs(y[np.isfinite(y)]).max(initial=1.0)
    step = float(ml_dtypes.finfo(a.dtype).eps)  # type: ignore[no-untyped-call]
    is_close: Array = (np.abs(x - y) <= max(_CLOSE, 8 * step) * most) | (x == y)
    return is_close


def _first(mask: Array) -> int | None:
    return int(mask.argmax()) if mask.any() else None

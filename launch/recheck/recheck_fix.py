"""The task `recheck_fix`: runs a kernel before and after a change, at small sizes.

The change keeps the meaning if it stores the same in every element that does not depend on memory
outside of buffers, and if nothing depends on what a load has in lanes without memory. Such lanes
hold one value in one run and another in the next, so what depends on them differs.

A new `other` must be the value that reductions do not notice. It is compared with a run in which
these lanes are NaN, and reductions leave NaN out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import ml_dtypes
import numpy as np

from compiler.messages.wire import Send
from compiler.ttir_to_numpy.batched_codegen import RunForm
from compiler.ttir_to_numpy.ir import Operation
from launch.buffers.element_types import Array
from launch.recheck.buffer_contents import BufferContents
from launch.recheck.contract_values import LegalLaunch, UnreadContract
from launch.recheck.float_slice import is_only_reduced
from launch.recheck.kernel_form import BoundedPrograms, NotRunnable
from launch.recheck.launch_search import is_none
from launch.recheck.poisoned_memory import REPLACED, LostValue, PoisonedMemory
from launch.recheck.recheck_messages import CheckRecheck, FixOrder, RecheckReport
from launch.recheck.small_runs import RunWays, SmallKernel, is_small, small_kernel_of, stored

MOST_LAUNCHES, MOST_SEARCHES = 60, 400
MOST_CPU_S = 2.0
_CLOSE = 1e-3
"""The largest difference of sums in another order, relative to the largest element."""
_OTHERS = 3
"""The operands of a load with `other`, after pointer and mask."""
_SIGNS, _LEAST = (-1, 1, 0), 0.25
"""The signs of floats in launches, and the least size of those with one sign."""
Stored = dict[str, Array]


def recheck_fix(order: FixOrder, body: bytes, _: Send) -> RecheckReport:
    """Run both kernels of an order."""
    started = time.process_time()
    size = order.kernel.ttir_bytes
    assert order.other is not None
    try:
        before = small_kernel_of(order, order.kernel, bytes(body[:size]).decode())
        after = small_kernel_of(order, order.other, bytes(body[size:]).decode())
        compared = _compared(order, before, after, started + MOST_CPU_S)
    except (NotRunnable, UnreadContract) as refused:
        return RecheckReport(refused=str(refused), ms=_ms_since(started))
    return RecheckReport(equivalent=compared, runs=compared.runs, ms=_ms_since(started))


def _ms_since(started: float) -> float:
    return round((time.process_time() - started) * 1000, 3)


def _compared(
    order: FixOrder, before: SmallKernel, after: SmallKernel, until: float
) -> CheckRecheck:
    if len(before.accesses) != len(after.accesses):
        message = "a change of the number of accesses"
        raise NotRunnable(message)
    changed = after.accesses[order.access]
    adds_other = _has_other(changed) and not _has_other(before.accesses[order.access])
    if adds_other and not is_only_reduced(changed.results[0], after.function):
        message = "its values are compared or selected, so that no run tells which `other` is right"
        return CheckRecheck(outcome="violated", message=message)
    runs = 0
    for is_large, launch in islice(before.search.launches(), MOST_SEARCHES):
        if runs == MOST_LAUNCHES or time.process_time() > until:
            break
        if is_large or is_none(launch) or not is_small(launch):
            continue
        both = _Both(before, after, launch, _Contents("spread", launch.ranges, _SIGNS[runs % 3]))
        number = changed.number if adds_other else None
        seen = both.difference(is_masked=order.is_masked, adds_other=number)
        runs += seen is not None
        if seen:
            return CheckRecheck(outcome="violated", message=seen, sizes=launch.names())
    return CheckRecheck(outcome="agrees" if runs else "not_modelled", runs=runs)


def _has_other(access: Operation) -> bool:
    return access.name == "tt.load" and len(access.operands) == _OTHERS


@dataclass(frozen=True)
class _Contents(BufferContents):
    """Contents whose floats all have one sign, unless `sign` is 0: maxima and minima differ."""

    sign: int = 0

    def values(self, name: str, elements: Array, dtype: np.dtype[Any]) -> Array:
        """Return what `elements` of a buffer hold."""
        found = super().values(name, elements, dtype)
        if not self.sign or dtype.kind in "iub":
            return found
        return ((np.abs(found.astype(np.float64)) + _LEAST) * self.sign).astype(dtype)


@dataclass(frozen=True)
class _Both:
    """A launch of a kernel before and after a change."""

    before: SmallKernel
    after: SmallKernel
    launch: LegalLaunch
    contents: BufferContents

    def difference(self, *, is_masked: bool, adds_other: int | None) -> str | None:
        """Return what differs, "" for nothing; None where a kernel does not end.

        Nothing may depend on lanes that a new mask leaves out, where the change `is_masked`.
        `adds_other` is the number of the load's operation that has an `other` now.
        """
        old = [self._stored(self.before, _memory(one)) for one in LostValue.numbers()]
        new = [self._stored(self.after, _memory(one)) for one in LostValue.numbers()]
        if any(not one for one in (*old, *new)):
            return None
        first, second = old
        made, other = new
        for name in first:
            is_open = ~_same(made[name], other[name])
            if is_masked and (place := _first(is_open)) is not None:
                return f"{name}[{place:,}] depends on lanes without memory"
            is_defined = _same(first[name], second[name])
            if (place := _first(is_defined & ~_same(first[name], made[name]))) is not None:
                return f"{name}[{place:,}] differs"
        if adds_other is None:
            return ""
        memory = _memory(LostValue.NAN, adds_other)
        reduced = self._stored(self.after, memory, is_dropping=True)
        for name in first if reduced else ():
            is_defined = _same(first[name], second[name])
            wrong = ~is_defined & ~_close(made[name], reduced[name])
            if (place := _first(wrong)) is not None:
                return f"{name}[{place:,}] is not what the lanes with memory give"
        return "" if reduced else None

    def _stored(
        self,
        kernel: SmallKernel,
        memory: Callable[[BoundedPrograms, RunForm], PoisonedMemory],
        *,
        is_dropping: bool = False,
    ) -> Stored:
        ways = RunWays(memory, REPLACED if is_dropping else {})
        return stored(kernel, self.launch, self.contents, ways) or {}


def _memory(
    poison: LostValue, without_other: int | None = None
) -> Callable[[BoundedPrograms, RunForm], PoisonedMemory]:
    def memory(programs: BoundedPrograms, form: RunForm) -> PoisonedMemory:
        return PoisonedMemory(programs, form.operations, poison, without_other)

    return memory


def _same(a: Array, b: Array) -> Array:
    """Return where two arrays have the same bits, or NaNs."""
    bits = np.dtype(f"u{a.dtype.itemsize}")
    found: Array = a.view(bits) == b.view(bits)
    if a.dtype.kind not in "iub":
        found |= (a != a) & (b != b)
    return found


def _close(a: Array, b: Array) -> Array:
    """Return where two arrays are equal up to rounding. NaNs are equal to nothing."""
    if a.dtype.kind in "iub":
        return _same(a, b)
    x, y = a.astype(np.float64), b.astype(np.float64)
    most = np.abs(y[np.isfinite(y)]).max(initial=1.0)
    step = float(ml_dtypes.finfo(a.dtype).eps)  # type: ignore[no-untyped-call]
    found: Array = (np.abs(x - y) <= max(_CLOSE, 8 * step) * most) | (x == y)
    return found


def _first(found: Array) -> int | None:
    return int(found.argmax()) if found.any() else None

"""Runs two kernels that were proved to store the same, and compares every byte that they store.

Launches are small and whole: each keeps both contracts, with buffers of the same sizes. An empty
grid stores nothing.
"""

from __future__ import annotations

import time

import numpy as np

from launch.buffers.element_types import Array
from launch.recheck.buffer_contents import CHOICES, BufferContents
from launch.recheck.contract_values import LegalLaunch, identifier
from launch.recheck.launch_search import is_none
from launch.recheck.recheck_messages import CheckRecheck, RecheckedKernel, RecheckOrder
from launch.recheck.small_runs import (
    MAX_TURNS,
    SmallKernel,
    is_small,
    small_kernel_of,
    stored,
)

MAX_LAUNCHES, MAX_SEARCHES = 60, 200


def recheck_pair(
    order: RecheckOrder, other: RecheckedKernel, texts: tuple[str, str], until: float
) -> CheckRecheck:
    """Return whether both kernels store the same wherever they ran. Raises NotRunnable."""
    halves = [
        small_kernel_of(order, kernel, text)
        for kernel, text in zip((order.kernel, other), texts, strict=True)
    ]
    runs = 0
    launches = halves[0].search.launches()
    for turn in range(MAX_SEARCHES):
        if runs == MAX_LAUNCHES or time.process_time() > until:
            break
        is_large, first = next(launches)
        if is_large or is_none(first) or not is_small(first):
            continue
        names = {identifier(k): v for k, v in {**first.scalars, **first.sizes}.items()}
        second = halves[1].search.joining(names)
        if second is None or not is_small(second) or not _are_alike(first, second):
            continue
        message = _difference(halves, (first, second), turn)
        runs += 1
        if message:
            sizes = first.names() | {f"second {k}": v for k, v in second.names().items()}
            return CheckRecheck(outcome="violated", message=message, sizes=sizes)
    return CheckRecheck(outcome="agrees", runs=runs)


def _are_alike(first: LegalLaunch, second: LegalLaunch) -> bool:
    """Return whether two launches have the same buffers, as far as both kernels take them."""
    shared = first.extents.keys() & second.extents.keys()
    return all(first.extents[name] == second.extents[name] for name in shared)


def _difference(
    halves: list[SmallKernel], launches: tuple[LegalLaunch, LegalLaunch], run: int
) -> str:
    """Return what two kernels store differently, "" for nothing."""
    ranges = {**launches[0].ranges, **launches[1].ranges}
    contents = BufferContents(CHOICES[run % len(CHOICES)], ranges, run)
    first, second = (
        stored(half, launch, contents) for half, launch in zip(halves, launches, strict=True)
    )
    if first is None or second is None:
        if first is None and second is None:
            return ""
        number = "first" if first is None else "second"
        return f"the {number} kernel does not end within {MAX_TURNS:,} turns of loops"
    for name in first.keys() & second.keys():
        place = _first_difference(first[name], second[name])
        if place is not None:
            return f"{name}[{place:,}] differs"
    return ""


def _first_difference(first: Array, second: Array) -> int | None:
    """Return the first element whose bytes differ; NaNs are alike, whatever their bits."""
    bits = np.dtype(f"u{first.dtype.itemsize}")
    differs = first.view(bits) != second.view(bits)
    if first.dtype.kind not in "iub":
        differs &= ~((first != first) & (second != second))
    return int(differs.argmax()) if differs.any() else None

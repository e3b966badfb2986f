"""How many elementary operations a launch does: what its kernel takes, its grid and its numbers.

Branches are all counted; a loop is counted as often as it runs in the program in the middle of the
grid. Where that follows from data there is no number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_MOST_OPERATIONS = 1 << 60


@dataclass(frozen=True, slots=True)
class WorkInstruction:
    """How a number that bounds of loops may come from is computed; of a loop its trips."""

    result: str
    compute: Callable[..., int | None]
    operands: tuple[str, ...] = ()


@dataclass(slots=True)
class WorkBlock:
    """A body: what it is in, what its own ops take each time that it runs."""

    parent: int | None
    kind: str
    function: str
    trips: str | None = None
    """Of a loop: the number that says how often it runs."""
    operations: int = 0
    fold: tuple[str, ...] = ()
    """Of a reduction or scan: its results."""


@dataclass(frozen=True, slots=True)
class KernelWork:
    """What a kernel takes, as a function of what a launch gives it."""

    kernel: str | None
    """The function that is launched; None: what it does is not known."""
    blocks: tuple[WorkBlock, ...]
    calls: tuple[tuple[int, str], ...]
    """From which block which function is called."""
    instructions: tuple[WorkInstruction, ...]
    parameters: Mapping[str, str]
    """By number of the text, the kernel's parameter that bounds of loops may come from."""

    @property
    def steps(self) -> int:
        """How many steps it takes to count a launch."""
        return len(self.instructions) + len(self.blocks) * (1 + len(self.calls))

    def operations(self, numbers: Mapping[str, int], grid: tuple[int, int, int]) -> int | None:
        """Return the operations of a launch; None: how often a loop runs follows from data."""
        values: dict[str, int | None] = {
            node: numbers.get(name) for node, name in self.parameters.items()
        }
        values |= {f"program_id {axis}": max(0, size - 1) // 2 for axis, size in _axes(grid)}
        values |= {f"num_programs {axis}": size for axis, size in _axes(grid)}
        for one in self.instructions:
            given = [values.get(operand) for operand in one.operands]
            values[one.result] = None if None in given else _bounded(one.compute, given)
        total = _Total(self, values).of_kernel()
        return None if total is None else min(total * math.prod(grid), _MOST_OPERATIONS)


def _axes(grid: tuple[int, int, int]) -> list[tuple[str, int]]:
    return list(zip("xyz", grid, strict=True))


class _Total:
    """The operations of all blocks, each times how often it runs."""

    def __init__(self, work: KernelWork, values: Mapping[str, int | None]) -> None:
        self._work, self._values = work, values
        self._functions: dict[str, int | None] = {}
        self._open: set[str] = set()

    def of_kernel(self) -> int | None:
        return None if self._work.kernel is None else self._of(self._work.kernel)

    def _of(self, function: str) -> int | None:
        """Return what one call takes, None where that is not known or it calls itself."""
        if function in self._open:
            return None
        if function not in self._functions:
            self._open.add(function)
            self._functions[function] = self._sum(function)
            self._open.discard(function)
        return self._functions[function]

    def _sum(self, function: str) -> int | None:
        times: dict[int, int | None] = {}
        total = 0
        for index, block in enumerate(self._work.blocks):
            if block.function != function:
                continue
            times[index] = self._times(block, times)
            if block.operations:
                count = times[index]
                if count is None:
                    return None
                total = min(total + count * block.operations, _MOST_OPERATIONS)
        for index, callee in self._work.calls:
            if index in times:
                count, inner = times[index], self._of(callee)
                if inner is None or (inner and count is None):
                    return None
                total = min(total + (count or 0) * inner, _MOST_OPERATIONS)
        return total

    def _times(self, block: WorkBlock, times: Mapping[int, int | None]) -> int | None:
        outer = 1 if block.parent is None else times[block.parent]
        if block.trips is None or outer is None:
            return outer
        trips = self._values.get(block.trips)
        return None if trips is None else min(outer * trips, _MOST_OPERATIONS)


def _bounded(compute: Callable[..., int | None], given: list[int | None]) -> int | None:
    """Return a number as far as kernels have them: none of more than 64 bits."""
    try:
        value = compute(*given)
    except (TypeError, ZeroDivisionError):  # text that Triton would not print; nothing divides by 0
        return None
    return value if value is not None and abs(value) < 1 << 64 else None

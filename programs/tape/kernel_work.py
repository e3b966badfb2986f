"""Counts the elementary operations of a launch, from its kernel, its grid and its integers.

All branches count. A loop counts with the trips of the program instance in the middle of the grid.
If the trips depend on data, there is no count.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_MOST_OPERATIONS = 1 << 60


@dataclass(frozen=True, slots=True)
class WorkInstruction:
    """The computation of a number on which bounds of loops may depend, or of a loop's trips."""

    result: str
    compute: Callable[..., int | None]
    operands: tuple[str, ...] = ()


@dataclass(slots=True)
class WorkBlock:
    """A body, with its parent and the operations of one run of its own ops."""

    parent: int | None
    kind: str
    function: str
    trips: str | None = None
    """The number of trips, if it is a loop."""
    operations: int = 0
    fold: tuple[str, ...] = ()
    """The results, if it is a reduction or scan."""


@dataclass(frozen=True, slots=True)
class KernelWork:
    """The operations of a kernel, as a function of a launch's arguments."""

    kernel: str | None
    """The function that is launched; None if its operations are unknown."""
    blocks: tuple[WorkBlock, ...]
    calls: tuple[tuple[int, str], ...]
    """The calls: the calling block, and the function."""
    instructions: tuple[WorkInstruction, ...]
    parameters: Mapping[str, str]
    """The parameters on which bounds of loops may depend, by their value in the text."""

    @property
    def steps(self) -> int:
        """The number of steps to count one launch."""
        return len(self.instructions) + len(self.blocks) * (1 + len(self.calls))

    def operations(self, numbers: Mapping[str, int], grid: tuple[int, int, int]) -> int | None:
        """Return the operations of a launch; None if the trips of a loop depend on data."""
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
    """The operations of all blocks, each times its number of runs."""

    def __init__(self, work: KernelWork, values: Mapping[str, int | None]) -> None:
        self._work, self._values = work, values
        self._functions: dict[str, int | None] = {}
        self._open: set[str] = set()

    def of_kernel(self) -> int | None:
        return None if self._work.kernel is None else self._of(self._work.kernel)

    def _of(self, function: str) -> int | None:
        """Return the operations of one call, None if they are unknown or it calls itself."""
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
    """Return the number, None if it has more than 64 bits."""
    try:
        value = compute(*given)
    except (TypeError, ZeroDivisionError):  # text that Triton would not print; nothing divides by 0
        return None
    return value if value is not None and abs(value) < 1 << 64 else None
